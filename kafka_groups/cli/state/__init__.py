"""`kafka-groups streams state`: the stores that applications keep on disk."""
