"""State of streams tasks: definitions of stores, and stores over an engine of bytes."""
