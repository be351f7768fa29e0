"""The share consumer (KIP-932): queues for Kafka."""
