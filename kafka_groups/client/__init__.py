"""Code that all clients share: request managers, the engine that drives them, and connections to the brokers."""
