"""Kafka's share groups for Python (KIP-932): a client, and an embedded broker to test against."""

from kafka_groups.share import (
    Acknowledged,
    ArchivedRecords,
    AsyncKafkaShareConsumer,
    CommitResult,
    ConsumerCounts,
    DeserializationContext,
    KafkaShareConsumer,
    ShareRecord,
    ShareRecords,
)
from kafka_groups.types import AcknowledgeType, ConsumerState, TopicIdPartition, TopicPartition

__all__ = [
    "AcknowledgeType",
    "Acknowledged",
    "ArchivedRecords",
    "AsyncKafkaShareConsumer",
    "CommitResult",
    "ConsumerCounts",
    "ConsumerState",
    "DeserializationContext",
    "KafkaShareConsumer",
    "ShareRecord",
    "ShareRecords",
    "TopicIdPartition",
    "TopicPartition",
]
