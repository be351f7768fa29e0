"""Topics as logs of raw record batches: append, read, look up, delete; without any I/O."""
