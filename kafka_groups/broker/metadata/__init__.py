"""Brokers, topics and leaders of the cluster. Does no I/O."""
