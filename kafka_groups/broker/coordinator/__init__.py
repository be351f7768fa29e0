"""The share-group coordinator: operations that return a response and records; hard state changes only by replay."""
