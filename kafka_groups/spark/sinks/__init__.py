"""Durable sinks for `process`: SQL tables, Parquet files and Kafka topics, each a picklable callable on a batch."""
