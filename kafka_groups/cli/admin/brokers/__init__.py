"""`kafka-groups brokers`: brokers and their configurations."""
