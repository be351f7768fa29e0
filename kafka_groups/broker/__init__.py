"""The embedded reference broker: a Kafka 4.4 as far as share groups need it."""
