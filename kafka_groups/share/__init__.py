"""The share consumer (KIP-932): queues for Kafka. Each name is imported on first use."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.serdes.contexts import DeserializationContext
    from kafka_groups.share.aio import AsyncKafkaShareConsumer
    from kafka_groups.share.consumer import KafkaShareConsumer
    from kafka_groups.share.delivery.batch import ShareRecords
    from kafka_groups.share.delivery.commits import Acknowledged, CommitResult, CommitTicket
    from kafka_groups.share.delivery.counts import ConsumerCounts
    from kafka_groups.share.delivery.records import ShareRecord
    from kafka_groups.share.delivery.returned import ArchivedRecords

__all__ = [
    "Acknowledged",
    "ArchivedRecords",
    "AsyncKafkaShareConsumer",
    "CommitResult",
    "CommitTicket",
    "ConsumerCounts",
    "DeserializationContext",
    "KafkaShareConsumer",
    "ShareRecord",
    "ShareRecords",
]

_MODULES = MappingProxyType({
    "Acknowledged": "delivery.commits",
    "ArchivedRecords": "delivery.returned",
    "AsyncKafkaShareConsumer": "aio",
    "CommitResult": "delivery.commits",
    "CommitTicket": "delivery.commits",
    "ConsumerCounts": "delivery.counts",
    "DeserializationContext": ".serdes.contexts",
    "KafkaShareConsumer": "consumer",
    "ShareRecord": "delivery.records",
    "ShareRecords": "delivery.batch",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
