"""Topics as logs of raw record batches: append, read, search, delete. Does no I/O."""
