"""The share consumer (KIP-932): queues for Kafka."""

from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.archiving import ArchivedRecords
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.commits import Acknowledged, CommitResult
from kafka_groups.share.delivery.counts import ConsumerCounts
from kafka_groups.share.delivery.deserializers import DeserializationContext
from kafka_groups.share.delivery.records import ShareRecord, ShareRecords

__all__ = [
    "Acknowledged",
    "ArchivedRecords",
    "AsyncKafkaShareConsumer",
    "CommitResult",
    "ConsumerCounts",
    "DeserializationContext",
    "KafkaShareConsumer",
    "ShareRecord",
    "ShareRecords",
]
