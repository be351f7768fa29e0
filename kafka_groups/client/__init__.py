"""What all clients share: request managers, the engine that drives them, and the way to the brokers."""
