"""The test kit for users: an embedded cluster, a real Kafka, connection faults, fixtures for pytest."""

from kafka_groups.broker.cluster import EmbeddedCluster

__all__ = ["EmbeddedCluster"]
