"""The share consumer (KIP-932): queues for Kafka. Each name is imported on first use."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.serdes.contexts import DeserializationContext
    from kafka_groups.share.aio import AsyncKafkaShareConsumer
    from kafka_groups.share.consumer import KafkaShareConsumer
    from kafka_groups.share.delivery.commits import Acknowledged, CommitResult, CommitTicket
    from kafka_groups.share.delivery.counts import ConsumerCounts
    from kafka_groups.share.delivery.records import ShareRecord
    from kafka_groups.share.delivery.returned import ArchivedRecords
    from kafka_groups.share.delivery.share_records import ShareRecords
    from kafka_groups.share.workers.batch import Batch
    from kafka_groups.share.workers.dependencies import inject
    from kafka_groups.share.workers.health import Health
    from kafka_groups.share.workers.outputs import Output, ProducerRecord
    from kafka_groups.share.workers.rate_limits import RateLimit
    from kafka_groups.share.workers.rules.failures.backoffs import Backoff
    from kafka_groups.share.workers.rules.failures.signals import (
        AttemptCancelledError,
        AttemptTimeoutError,
        HandlerResultError,
        NeverAwaitedError,
        OutputError,
        Reject,
        Retry,
    )
    from kafka_groups.share.workers.rules.failures.verdicts import OnError
    from kafka_groups.share.workers.rules.origins import RecordOrigin
    from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics
    from kafka_groups.share.workers.running.attempts import Attempt, current_attempt
    from kafka_groups.share.workers.worker import Worker

__all__ = [
    "Acknowledged",
    "ArchivedRecords",
    "AsyncKafkaShareConsumer",
    "Attempt",
    "AttemptCancelledError",
    "AttemptTimeoutError",
    "Backoff",
    "Batch",
    "CommitResult",
    "CommitTicket",
    "ConsumerCounts",
    "DeserializationContext",
    "HandlerResultError",
    "Health",
    "KafkaShareConsumer",
    "NeverAwaitedError",
    "OnError",
    "Output",
    "OutputError",
    "ProducerRecord",
    "RateLimit",
    "RecordOrigin",
    "Reject",
    "Retry",
    "RetryTopics",
    "ShareRecord",
    "ShareRecords",
    "Worker",
    "current_attempt",
    "inject",
]

_MODULES = MappingProxyType({
    "Acknowledged": "delivery.commits",
    "ArchivedRecords": "delivery.returned",
    "AsyncKafkaShareConsumer": "aio",
    "Attempt": "workers.running.attempts",
    "AttemptCancelledError": "workers.rules.failures.signals",
    "AttemptTimeoutError": "workers.rules.failures.signals",
    "Backoff": "workers.rules.failures.backoffs",
    "Batch": "workers.batch",
    "CommitResult": "delivery.commits",
    "CommitTicket": "delivery.commits",
    "ConsumerCounts": "delivery.counts",
    "DeserializationContext": ".serdes.contexts",
    "HandlerResultError": "workers.rules.failures.signals",
    "NeverAwaitedError": "workers.rules.failures.signals",
    "Health": "workers.health",
    "KafkaShareConsumer": "consumer",
    "OnError": "workers.rules.failures.verdicts",
    "RecordOrigin": "workers.rules.origins",
    "Output": "workers.outputs",
    "OutputError": "workers.rules.failures.signals",
    "ProducerRecord": "workers.outputs",
    "RateLimit": "workers.rate_limits",
    "Reject": "workers.rules.failures.signals",
    "Retry": "workers.rules.failures.signals",
    "RetryTopics": "workers.rules.retry_topics.delays",
    "ShareRecord": "delivery.records",
    "ShareRecords": "delivery.share_records",
    "Worker": "workers.worker",
    "current_attempt": "workers.running.attempts",
    "inject": "workers.dependencies",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
