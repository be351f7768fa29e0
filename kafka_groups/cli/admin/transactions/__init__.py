"""`kafka-groups transactions`: transactional ids, producers of partitions, and transactions that hang."""
