"""The leader of share-partitions: what is acquired by whom, for how long, how often (KIP-932); without any I/O."""
