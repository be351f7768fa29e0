"""Kafka's share groups for Python (KIP-932): a client, and an embedded broker to test against.

Names are loaded when they are first used, so that importing the package, or one of its light modules, costs little.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

    __version__: str

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
    "__version__",
]

_MODULES = MappingProxyType({
    "AcknowledgeType": "types",
    "Acknowledged": "share.delivery.commits",
    "ArchivedRecords": "share.archiving",
    "AsyncKafkaShareConsumer": "share.aio",
    "CommitResult": "share.delivery.commits",
    "ConsumerCounts": "share.delivery.counts",
    "ConsumerState": "types",
    "DeserializationContext": "share.delivery.deserializers",
    "KafkaShareConsumer": "share.consumer",
    "ShareRecord": "share.delivery.records",
    "ShareRecords": "share.delivery.records",
    "TopicIdPartition": "types",
    "TopicPartition": "types",
})  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - takes ten times as long as this module

        return version("kafka-groups")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
