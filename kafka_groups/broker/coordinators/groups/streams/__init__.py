"""Streams groups, whose tasks the group coordinator assigns (KIP-1071)."""
