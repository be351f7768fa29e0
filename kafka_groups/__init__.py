"""Kafka's share groups for Python (KIP-932): a client, and an embedded broker to test against."""
