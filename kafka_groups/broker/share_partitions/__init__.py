"""The leader of share-partitions: who has acquired what, for how long, how often (KIP-932). Does no I/O."""
