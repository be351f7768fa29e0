"""Committed offsets of the groups of a shard."""
