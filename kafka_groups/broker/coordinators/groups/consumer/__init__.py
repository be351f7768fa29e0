"""Consumer groups, whose partitions the group coordinator assigns (KIP-848)."""
