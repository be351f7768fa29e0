"""The embedded reference broker: the parts of Kafka 4.4 that share groups need."""
