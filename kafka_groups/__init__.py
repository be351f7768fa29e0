"""Kafka's share groups (KIP-932) and streams groups (KIP-1071) for Python: clients, and an embedded broker for tests.

Each name is imported on first use, so importing the package or one of its light modules is cheap.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.admin import AsyncKafkaAdmin, KafkaAdmin
    from kafka_groups.share import (
        Acknowledged,
        ArchivedRecords,
        AsyncKafkaShareConsumer,
        Attempt,
        AttemptCancelledError,
        AttemptTimeoutError,
        Backoff,
        Batch,
        CommitResult,
        CommitTicket,
        ConsumerCounts,
        DeserializationContext,
        HandlerResultError,
        Health,
        KafkaShareConsumer,
        NeverAwaitedError,
        OnError,
        Output,
        OutputError,
        ProducerRecord,
        RecordOrigin,
        Reject,
        Retry,
        RetryTopics,
        ShareRecord,
        ShareRecords,
        Worker,
        current_attempt,
        inject,
    )
    from kafka_groups.streams import AsyncStreamsGroupMember, StreamsGroupMember
    from kafka_groups.types import (
        AcknowledgeType,
        ConsumerState,
        OffsetAndMetadata,
        TopicIdPartition,
        TopicPartition,
    )
    from kafka_groups.version import __version__

__all__ = [
    "AcknowledgeType",
    "Acknowledged",
    "ArchivedRecords",
    "AsyncKafkaAdmin",
    "AsyncKafkaShareConsumer",
    "AsyncStreamsGroupMember",
    "Attempt",
    "AttemptCancelledError",
    "AttemptTimeoutError",
    "Backoff",
    "Batch",
    "CommitResult",
    "CommitTicket",
    "ConsumerCounts",
    "ConsumerState",
    "DeserializationContext",
    "HandlerResultError",
    "Health",
    "KafkaAdmin",
    "KafkaShareConsumer",
    "NeverAwaitedError",
    "OffsetAndMetadata",
    "OnError",
    "Output",
    "OutputError",
    "ProducerRecord",
    "RecordOrigin",
    "Reject",
    "Retry",
    "RetryTopics",
    "ShareRecord",
    "ShareRecords",
    "StreamsGroupMember",
    "TopicIdPartition",
    "TopicPartition",
    "Worker",
    "__version__",
    "current_attempt",
    "inject",
]

_MODULES = MappingProxyType({
    "AcknowledgeType": "types",
    "Acknowledged": "share",
    "ArchivedRecords": "share",
    "AsyncKafkaAdmin": "admin",
    "AsyncKafkaShareConsumer": "share",
    "AsyncStreamsGroupMember": "streams",
    "Attempt": "share",
    "AttemptCancelledError": "share",
    "AttemptTimeoutError": "share",
    "Backoff": "share",
    "Batch": "share",
    "CommitResult": "share",
    "CommitTicket": "share",
    "ConsumerCounts": "share",
    "ConsumerState": "types",
    "DeserializationContext": "share",
    "HandlerResultError": "share",
    "NeverAwaitedError": "share",
    "Health": "share",
    "KafkaAdmin": "admin",
    "KafkaShareConsumer": "share",
    "OffsetAndMetadata": "types",
    "OnError": "share",
    "RecordOrigin": "share",
    "Output": "share",
    "OutputError": "share",
    "ProducerRecord": "share",
    "Reject": "share",
    "Retry": "share",
    "RetryTopics": "share",
    "ShareRecord": "share",
    "ShareRecords": "share",
    "StreamsGroupMember": "streams",
    "TopicIdPartition": "types",
    "TopicPartition": "types",
    "Worker": "share",
    "__version__": "version",
    "current_attempt": "share",
    "inject": "share",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
