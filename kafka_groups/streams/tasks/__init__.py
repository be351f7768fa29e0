"""Tasks: the queues of their partitions, stream time, punctuation, commits, and decisions about errors."""
