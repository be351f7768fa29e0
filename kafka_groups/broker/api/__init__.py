"""One handler module per API, each opening with what it does, which versions, which errors."""
