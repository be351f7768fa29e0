"""Streams groups: the protocol of a group member (KIP-1071)."""
