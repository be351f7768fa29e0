"""Rules of the source: which records form a batch, when it is closed, and when its records are accepted. No I/O."""
