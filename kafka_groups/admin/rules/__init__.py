"""The rules of an admin client: its questions to brokers, and the meaning of their responses. No I/O."""
