"""Bytes ⇄ messages, without any I/O: the Kafka protocol as far as share groups need it (KIP-932)."""
