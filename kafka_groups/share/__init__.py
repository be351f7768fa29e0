"""The share consumer (KIP-932): queues for Kafka. Names are loaded when they are first used."""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_MODULES = MappingProxyType({
    "Acknowledged": "delivery.commits",
    "ArchivedRecords": "archiving",
    "AsyncKafkaShareConsumer": "aio",
    "CommitResult": "delivery.commits",
    "ConsumerCounts": "delivery.counts",
    "DeserializationContext": "delivery.deserializers",
    "KafkaShareConsumer": "consumer",
    "ShareRecord": "delivery.records",
    "ShareRecords": "delivery.records",
})  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
