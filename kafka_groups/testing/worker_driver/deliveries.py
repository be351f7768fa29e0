"""Deliveries of records to a worker, as a test sees them."""

import enum
from collections.abc import Sequence
from typing import Protocol

from attrs import define, field

from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of

__all__ = ["DeliveryLooks", "DeliveryProgress", "DeliveryState", "Outcome", "WorkerDelivery"]


class Outcome(enum.Enum):
    """The end of a delivery."""

    ACCEPTED = "accepted"
    """The worker accepted the record."""

    REJECTED = "rejected"
    """The worker rejected it, after the copy if there is a topic for dead letters. It is never redelivered."""

    RELEASED = "released"
    """The worker released it. The broker redelivers it, unless this was its last delivery."""

    LOST = "lost"
    """The worker lost the lock of the record. The broker redelivers it, unless this was its last delivery."""


class DeliveryState(enum.Enum):
    """The state of a record in a worker."""

    HELD = "held"
    """It waits for a free slot, for the record before it with the same key, for its batch, or for the breaker."""

    RUNNING = "running"
    """Its handler has not returned."""

    WAITING = "waiting"
    """Its next attempt is due later: an attempt failed, or its handler has a `delay`. It may be in a retry topic."""

    WRITING = "writing"
    """Its dead letter, or another record that is written for it, is not confirmed."""

    SETTLED = "settled"
    """It has an outcome."""


@define(eq=False)
class DeliveryProgress:
    """The course of a delivery, which the driver keeps.

    Attributes:
        attempts: Calls of the handler.
        errors: The errors of attempts, oldest first.
        outcome: The end; None before.
        retried: The record in the retry topic that it is in now, and who looks at it there; None before it moves.
    """

    attempts: int = 0
    errors: list[Exception] = field(factory=list)
    outcome: Outcome | None = None
    retried: "tuple[AnyRecord, DeliveryLooks] | None" = None


class DeliveryLooks(Protocol):
    """Looks at the records that a handler has in hand."""

    def state_of(self, record: AnyRecord) -> DeliveryState:
        """Return the state of a record without an outcome."""
        ...

    def next_attempt_in(self, record: AnyRecord) -> float | None:
        """Return the virtual seconds until a waiting record is due; None if it does not wait."""
        ...


class WorkerDelivery:
    """One delivery of a record to a worker, also in retry topics. Made by `WorkerTestDriver.deliver`.

    Its attributes follow the worker: they change when the driver advances.
    """

    def __init__(self, record: AnyRecord, progress: DeliveryProgress, looks: DeliveryLooks) -> None:
        self._record = record
        self._progress = progress
        self._looks = looks

    @property
    def record(self) -> AnyRecord:
        """The record with key and value as bytes."""
        return self._record

    @property
    def topic(self) -> str:
        """The topic."""
        return self._record.topic

    @property
    def partition(self) -> int:
        """The number of the partition."""
        return self._record.partition

    @property
    def offset(self) -> int:
        """The offset in the partition. The driver counts them from 0."""
        return self._record.offset

    @property
    def origin(self) -> RecordOrigin:
        """The place of the record in the topic that the handler first got it from, as `current_attempt().origin`."""
        return origin_of(self._record)

    @property
    def retry_topic(self) -> str | None:
        """The retry topic that the record is in now, or in which it ended; None if it has not moved."""
        return None if self._progress.retried is None else self.current.topic

    @property
    def current(self) -> AnyRecord:
        """The record that the worker has now: in a retry topic once it has moved there, with its own headers."""
        return self._now[0]

    @property
    def _now(self) -> tuple[AnyRecord, DeliveryLooks]:
        return self._progress.retried or (self._record, self._looks)

    @property
    def delivery_count(self) -> int:
        """The number of deliveries of the record, this one included. It starts from one in each retry topic."""
        return self.current.delivery_count

    @property
    def outcome(self) -> Outcome | None:
        """The end of the delivery; None while the worker has the record in hand."""
        return self._progress.outcome

    @property
    def state(self) -> DeliveryState:
        """The state of the record in the worker."""
        record, looks = self._now
        return DeliveryState.SETTLED if self.outcome is not None else looks.state_of(record)

    @property
    def attempts(self) -> int:
        """The number of calls of the handler with this delivery, in all retry topics, one under way included.

        Values that could not be parsed call no handler. Each call of a batch handler counts for all its records.
        """
        return self._progress.attempts

    @property
    def errors(self) -> Sequence[Exception]:
        """The errors of this delivery's attempts, oldest first: raised by the handler, or why it was not called."""
        return tuple(self._progress.errors)

    @property
    def next_attempt_in(self) -> float | None:
        """The virtual seconds until the next attempt is due, if the record waits for a retry; None otherwise.

        The attempt may start later, if no slot is free. While the breaker is open, this is the time of the next probe.
        """
        record, looks = self._now
        return None if self.outcome is not None else looks.next_attempt_in(record)

    def __repr__(self) -> str:
        ends = self.outcome.value if self.outcome is not None else self.state.value
        due = self.next_attempt_in
        wait = "" if due is None else f", the next in {due:g} s"
        wait += "" if self.retry_topic is None else f", in {self.retry_topic}"
        errors = f", last error {self._progress.errors[-1]!r}" if self._progress.errors else ""
        return (
            f"<WorkerDelivery {self.topic}-{self.partition}@{self.offset} delivery {self.delivery_count}: {ends},"
            f" {self.attempts} attempt{'' if self.attempts == 1 else 's'}{wait}{errors}>"
        )
