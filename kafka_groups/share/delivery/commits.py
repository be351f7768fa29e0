"""Acknowledgements on their way to a leader, and their results."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Self

from attrs import define, evolve, field, frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.types import TopicIdPartition

__all__ = ["Acknowledged", "CommitResult", "CommitTicket", "PendingAcknowledgement"]


CommitResult = Mapping[TopicIdPartition, KafkaGroupsError | None]
"""The result of a commit: for each partition None, or the error with which the broker refused."""


@frozen
class Acknowledged:
    """The result of acknowledgements of one partition, as the acknowledgement callback receives it.

    Attributes:
        partition: The partition.
        ranges: The offsets, as (first, last) in ascending order.
        error: None if the broker accepted them. Otherwise the error; the broker redelivers the records.
    """

    partition: TopicIdPartition
    ranges: tuple[tuple[int, int], ...]
    error: KafkaGroupsError | None

    def offsets(self) -> Iterator[int]:
        """Iterate over the offsets."""
        for first, last in self.ranges:
            yield from range(first, last + 1)


@define(eq=False)
class CommitTicket:
    """One commit: done when the brokers have answered all of its acknowledgements.

    Attributes:
        results: None or the first error, for each partition with a response.
        on_done: Called by the event loop with the last answer.
        is_urgent: Whether its acknowledgements must not wait for the next fetch.
    """

    results: dict[TopicIdPartition, KafkaGroupsError | None] = field(factory=dict)
    on_done: Callable[[], None] | None = None
    is_urgent: bool = True
    _outstanding: int = 0

    @property
    def is_done(self) -> bool:
        """True when all results have arrived."""
        return self._outstanding <= 0

    def expect(self, count: int) -> None:
        """Add a number of acknowledgements to this commit."""
        self._outstanding += count

    def settle(self, partition: TopicIdPartition, error: KafkaGroupsError | None) -> None:
        """Store the result of one acknowledgement."""
        # Several deliveries of one partition may be in one commit. The first error stays, since a success of another
        # part does not undo it.
        self.results[partition] = self.results.get(partition) or error
        self._outstanding -= 1
        # Exactly 0: a ticket that never expected anything is done already, and nobody waits for it.
        if self._outstanding == 0 and self.on_done is not None:
            self.on_done()


@frozen(eq=False)
class PendingAcknowledgement:
    """Acknowledgements of one delivery, or a renewal of its locks, on the way to the leader.

    Attributes:
        delivery: The delivery.
        batches: The acknowledgements as they are sent.
        marks: The marks that the batches were made of; None for a renewal in place.
        deadline_ms: When to stop trying.
        ticket: The commit that waits for it, if there is one.
    """

    delivery: DeliveredRecords
    batches: tuple[AcknowledgementBatch, ...]
    marks: bytes | None
    deadline_ms: int
    ticket: CommitTicket | None = None

    @property
    def partition(self) -> TopicIdPartition:
        """The partition."""
        return self.delivery.topic_partition

    @property
    def is_urgent(self) -> bool:
        """True if the request must be sent at once, because a caller waits for the result."""
        return self.ticket is not None and self.ticket.is_urgent

    @property
    def record_count(self) -> int:
        """Number of records that it acknowledges."""
        return sum(batch.last_offset - batch.first_offset + 1 for batch in self.batches)

    @property
    def is_renewal_in_place(self) -> bool:
        """True if it only extends locks of records that the application has not acknowledged."""
        return self.marks is None

    @property
    def renews(self) -> bool:
        """True if it contains the type RENEW, which requires version 2 and a flag (KIP-1222)."""
        # From the batches and not from the marks, because a renewal in place has no marks.
        return any(m.RENEW in batch.acknowledge_types for batch in self.batches)

    def overlaps(self, other: Self) -> bool:
        """Return True if both name the same offset of a partition, for different deliveries."""
        mine, theirs = self.batches, other.batches
        # Acknowledgements of one delivery are merged when they are sent, so only those of different deliveries can be
        # in each other's way.
        if self.delivery is other.delivery or mine[0].first_offset > theirs[-1].last_offset:
            return False
        if theirs[0].first_offset > mine[-1].last_offset:
            return False
        ranges = sorted((batch.first_offset, batch.last_offset) for batch in (*mine, *theirs))
        return any(later[0] <= earlier[1] for earlier, later in pairwise(ranges))

    def split_renewals(self) -> tuple[Self, Self | None]:
        """Return the part that renews locks, and the rest; None if there is no rest."""
        marks = self.marks or b""
        renewals = marks.translate(bytes(mark if mark == m.RENEW else m.NOT_ACQUIRED for mark in range(256)))
        rest = self._with(marks.replace(bytes([m.RENEW]), bytes([m.NOT_ACQUIRED])))
        return self._with(renewals), rest if rest.batches else None

    def _with(self, marks: bytes) -> Self:
        return evolve(self, batches=m.encode_batches(marks, self.delivery.first_offset), marks=marks)

    def renewed_runs(self) -> tuple[tuple[int, int], ...]:
        """Return the positions that the application acknowledged with RENEW.

        These records are delivered to it again.
        """
        return () if self.marks is None else tuple(m.runs_of(self.marks, m.RENEW))

    def result(self, error: KafkaGroupsError | None) -> Acknowledged:
        """Return the result for the acknowledgement callback."""
        ranges = tuple((batch.first_offset, batch.last_offset) for batch in self.batches)
        return Acknowledged(self.partition, ranges, error)
