"""A member of a streams group (KIP-1071): heartbeats, tasks, offsets."""
