"""Topologies of streams groups: what members send, and the tasks and internal topics that follow from it (KIP-1071)."""
