"""The engines of a worker: what keeps the committed state of its tasks, in memory and on disk."""
