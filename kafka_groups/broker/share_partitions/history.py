"""The results of deliveries by group, for tests that check what a group accepted, released or rejected."""

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import evolve, frozen

from kafka_groups.broker.share_partitions.dead_letters import rejected_ranges
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.types import TopicIdPartition

__all__ = ["DeliveryHistory", "DeliveryOutcome", "Ended"]


class DeliveryOutcome(enum.Enum):
    """The end of a record's delivery.

    A record with a dead letter has two: REJECTED or ARCHIVED when its delivery ends, and DEAD_LETTERED when the brokers
    have written its letter to the group's queue (KIP-1191).
    """

    ACCEPTED = "accepted"
    RELEASED = "released"
    REJECTED = "rejected"
    ARCHIVED = "archived"
    DEAD_LETTERED = "dead-lettered"


@frozen
class Ended:
    """Deliveries of consecutive records that ended the same way.

    Attributes:
        outcome: The end of the deliveries.
        partition: Their partition.
        first: The first offset.
        last: The last offset.
        delivery_count: The delivery count of the records.
    """

    outcome: DeliveryOutcome
    partition: TopicIdPartition
    first: int
    last: int
    delivery_count: int

    def followed_by(self, other: "Ended") -> bool:
        """Return whether the other one continues where this one ends."""
        return self.last + 1 == other.first and evolve(self, first=other.first, last=other.last) == other


class DeliveryHistory:
    """All deliveries that ended since the cluster started, in order, stored as runs."""

    def __init__(self) -> None:
        self._of: dict[str, list[Ended]] = {}
        self._listeners: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"<DeliveryHistory of {len(self._of)} groups>"

    def of(self, group_id: str) -> tuple[Ended, ...]:
        """Return the deliveries of a group."""
        return tuple(self._of.get(group_id, ()))

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function on the brokers' event loop whenever deliveries end. Returns a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def add(
        self,
        group_id: str,
        partition: TopicIdPartition,
        batches: Iterable[StateBatch],
        acknowledged: Sequence[AcknowledgementBatch] = (),
    ) -> None:
        """Record new states.

        Args:
            group_id: The group.
            partition: The partition.
            batches: The new states.
            acknowledged: The acknowledgements that led to them; none if locks ended or a session was closed.
        """
        self._add(group_id, (ended for batch in batches for ended in _ended(partition, batch, acknowledged)))

    def add_dead_lettered(self, group_id: str, partition: TopicIdPartition, batches: Iterable[StateBatch]) -> None:
        """Record that the brokers have written dead letters for records.

        Args:
            group_id: The group.
            partition: The partition of the records.
            batches: Their states.
        """
        outcome = DeliveryOutcome.DEAD_LETTERED
        self._add(
            group_id,
            (Ended(outcome, partition, each.first_offset, each.last_offset, each.delivery_count) for each in batches),
        )

    def _add(self, group_id: str, all_ended: Iterable[Ended]) -> None:
        entries = self._of.setdefault(group_id, [])
        for ended in all_ended:
            if entries and entries[-1].followed_by(ended):
                entries[-1] = evolve(entries[-1], last=ended.last)
            else:
                entries.append(ended)
        for listener in tuple(self._listeners):
            listener()


def _ended(
    partition: TopicIdPartition, batch: StateBatch, acknowledged: Sequence[AcknowledgementBatch]
) -> Iterator[Ended]:
    first, last, count = batch.first_offset, batch.last_offset, batch.delivery_count
    if batch.delivery_state == RecordState.ACKNOWLEDGED:
        yield Ended(DeliveryOutcome.ACCEPTED, partition, first, last, count)
    elif batch.delivery_state == RecordState.AVAILABLE:
        yield Ended(DeliveryOutcome.RELEASED, partition, first, last, count)
    elif batch.delivery_state in (RecordState.ARCHIVING, RecordState.ARCHIVED):
        # There are two ways to get there: the member rejected the record, or it was archived for another reason (the
        # delivery limit, a gap, an aborted transaction). The state alone does not tell, so the acknowledgement decides.
        for is_rejected, from_offset, to_offset in rejected_ranges(batch, acknowledged):
            outcome = DeliveryOutcome.REJECTED if is_rejected else DeliveryOutcome.ARCHIVED
            yield Ended(outcome, partition, from_offset, to_offset, count)
