"""The rules of Spark workers: sub-batches of many records, one at a time, and what a group may have left."""
