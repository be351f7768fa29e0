"""Every configuration key with its type, unit, default, bounds and meaning: clients, brokers, topics, groups."""
