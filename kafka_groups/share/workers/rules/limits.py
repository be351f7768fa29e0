"""The settings of one handler that its rules follow."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import frozen

from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayRules
from kafka_groups.share.workers.rules.retry_topics.retry_rules import RetryRules
from kafka_groups.share.workers.rules.steps import OpenRecord
from kafka_groups.types import RecordId

if TYPE_CHECKING:
    from kafka_groups.records.confirmed.writes import RecordToWrite

__all__ = ["BatchSizes", "HandlingRules"]

R = TypeVar("R")


@frozen
class BatchSizes:
    """The sizes of a batch handler's batches.

    Attributes:
        max_records: The most records of a batch.
        max_wait_ms: How long the first record of a batch waits for others.
    """

    max_records: int
    max_wait_ms: int


@frozen(kw_only=True)
class HandlingRules(Generic[R]):
    """The rules of one handler.

    Attributes:
        failures: What happens to records whose attempts fail.
        policy: The rules for delivery counts.
        concurrency: The most runs at a time.
        delay: When the records of a topic with a delay may run; None if they may run at once.
        queued: How many runs of a fast handler may wait in the queue of its slots, which start them by themselves.
        buffer: How many records to acquire ahead; None follows the pace of the handler.
        dead_letter: Makes the dead letter of a record; None if the worker writes none itself.
        record_locks: The group's `share.partition.max.record.locks`.
        record_id: Returns the partition and offset of a record.
        key_of: Returns the key whose order is kept, or None for a record without order. None if no order is kept.
        batch: The limits of a batch handler; None if the handler gets single records.
        on_blocked: What happens to a record that fills the window of its partition; None keeps it.
        retry: Where long waits are spent; None for the process.
    """

    failures: FailureRules
    policy: DeliveryPolicy
    concurrency: int
    buffer: int | None
    dead_letter: "Callable[[OpenRecord[R]], RecordToWrite] | None"
    record_locks: int
    record_id: Callable[[R], RecordId]
    key_of: Callable[[R], Hashable] | None = None
    batch: BatchSizes | None = None
    on_blocked: OnError | None = None
    delay: DelayRules[R] | None = None
    retry: RetryRules[R] | None = None
    queued: int = 0

    @property
    def held_ms(self) -> int:
        """The wait of a record that is held."""
        return round(1000 * self.failures.retries.most) if self.retry is None else self.retry.longest_ms
