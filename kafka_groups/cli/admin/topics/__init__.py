"""`kafka-groups topics`: topics, their partitions and configurations."""
