"""The share consumer (KIP-932): queues for Kafka."""

from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.records import ShareRecord, ShareRecords

__all__ = ["AsyncKafkaShareConsumer", "KafkaShareConsumer", "ShareRecord", "ShareRecords"]
