"""The share-group coordinator: operations return a response and records. Hard state changes only by replay."""
