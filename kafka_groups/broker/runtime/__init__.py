"""A broker at work: the shards of its coordinators, requests to other brokers, and everything that waits."""
