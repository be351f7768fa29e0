"""The share coordinator: the state of share-partitions, and the records that keep it in `__share_group_state`."""
