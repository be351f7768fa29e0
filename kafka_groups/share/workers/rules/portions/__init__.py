"""The rules of Spark workers: portions of many records, one at a time."""
