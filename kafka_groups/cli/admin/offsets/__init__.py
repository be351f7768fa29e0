"""`kafka-groups offsets`: the offsets of share groups."""
