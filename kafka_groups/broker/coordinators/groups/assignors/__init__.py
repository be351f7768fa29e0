"""Assignors decide which member of a group fetches from which share-partitions."""
