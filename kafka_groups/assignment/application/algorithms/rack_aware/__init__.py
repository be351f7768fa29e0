"""Tasks that move between processes so that fewer of their partitions are in another rack (KIP-925)."""
