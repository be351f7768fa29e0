"""The configuration keys of readers and producers of records."""
