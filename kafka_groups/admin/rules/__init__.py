"""What an admin client asks brokers, and what their responses mean. No I/O."""
