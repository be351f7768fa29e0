"""The configuration keys of clients."""
