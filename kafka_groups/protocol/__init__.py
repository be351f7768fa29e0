"""Bytes ⇄ messages: the parts of the Kafka protocol that share groups need (KIP-932). Does no I/O."""
