"""Assignors: which member of a group is to fetch from which share-partitions."""
