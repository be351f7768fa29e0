"""Classic groups: members that join in rounds, and share out partitions themselves (KIP-345, KIP-394, KIP-814)."""
