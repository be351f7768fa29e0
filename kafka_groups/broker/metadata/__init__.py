"""Brokers, topics, leaders and configs of the cluster, as images that an authority makes. Does no I/O."""
