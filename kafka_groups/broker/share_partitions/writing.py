"""The writes of one share-partition, one at a time.

While a write is under way, further changes wait and become one write together. An acknowledgement takes effect when it
is written. Until then its records are held: nobody can acquire or acknowledge them, and their locks do not expire. A
change that nobody asked for, such as the expiry of a lock, has taken effect already when it is written.
"""

from typing import Protocol

from attrs import define, field

from kafka_groups.broker.runs import Run
from kafka_groups.broker.share_partitions.in_flight import InFlightState
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition

__all__ = ["StateChange", "StateWriter"]


class Waiter(Protocol):
    """The handle of a waiting request, such as an `asyncio.Future`."""

    def done(self) -> bool:
        """Return whether it does not wait any more."""
        ...

    def set_result(self, result: None, /) -> None:
        """End the wait."""
        ...


@define(eq=False)
class StateChange:
    """A change of hard state, from its plan until it is written or refused.

    Attributes:
        share_partition: The share-partition.
        batches: The new states.
        acknowledged: The acknowledgements that caused it.
        is_applied: Whether it takes effect before it is written.
        has_letters: Whether the records were ARCHIVING, and their dead letters are written. None: they were not.
        held: The runs that wait for it, as they were before.
        has_ended: Whether it was written or refused.
        error: The error with which it was refused.
        waiter: The request that waits for it.
    """

    share_partition: SharePartition
    batches: tuple[StateBatch, ...]
    acknowledged: tuple[AcknowledgementBatch, ...] = ()
    is_applied: bool = False
    has_letters: bool | None = None
    held: tuple[Run[InFlightState], ...] = field(default=(), init=False)
    has_ended: bool = field(default=False, init=False)
    error: BrokerError | None = field(default=None, init=False)
    waiter: Waiter | None = field(default=None, init=False)

    def end(self, error: BrokerError | None) -> None:
        """Note that it was written, or why it was refused, and wake the request that waits for it."""
        self.has_ended, self.error = True, error
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class StateWriter:
    """Decides what is written next for one share-partition, and what the outcome means for its records.

    `LedSharePartitions` sends what `begin` returns, and calls `end` with the outcome.

    Args:
        share_partition: The share-partition.

    Attributes:
        share_partition: The share-partition.
        is_calling: Whether the call that asked for a write has not returned yet.
    """

    def __init__(self, share_partition: SharePartition) -> None:
        self.share_partition = share_partition
        self.is_calling = False
        self._waiting: list[StateChange] = []
        self._under_way: tuple[StateChange, ...] = ()

    @property
    def is_busy(self) -> bool:
        """True if a write is in progress, or about to start."""
        return bool(self._under_way or self._waiting)

    @property
    def can_begin(self) -> bool:
        """True if there is something to write, and no write is in progress."""
        return bool(self._waiting) and not self._under_way

    def add(self, change: StateChange) -> None:
        """Take a change for the next write."""
        # An expired lock or an archived gap has no owner who could wait for an answer, so it takes effect at once.
        # Kafka treats lock timeouts in the same way (InFlightState.tryUpdateState), and acknowledgements as transitions
        # that end with the write (InFlightState.startStateTransition). The start offset waits for the write in both
        # cases.
        if change.is_applied:
            self.share_partition.apply(change.batches)
        self._waiting.append(change)

    def begin(self) -> WriteShareStatePartition:
        """Begin a write of all changes that wait, and return it."""
        # One write at a time, so that the coordinator receives the changes in their order. Kafka sends each change by
        # itself, and its persister batches them.
        self._under_way, self._waiting = tuple(self._waiting), []
        applied = [batch for change in self._under_way if change.is_applied for batch in change.batches]
        others = [batch for change in self._under_way if not change.is_applied for batch in change.batches]
        return self.share_partition.update(applied, others)

    def hold(self, change: StateChange) -> None:
        """Keep the records of a change from everyone until it is written. Call this if that takes time."""
        if not change.is_applied:
            change.held = self.share_partition.hold(change.batches)

    def end(self, error: BrokerError | None) -> tuple[StateChange, ...]:
        """End the write. Its changes take effect, or are taken back if it was refused. Returns them."""
        changes, self._under_way = self._under_way, ()
        for change in changes:
            # There are three cases. An acknowledgement that was written takes effect. One that was refused gives its
            # records back to their owner, whose locks may have expired in the meantime
            # (InFlightState.completeStateTransition). A change that was applied before stays as it is, whatever the
            # outcome.
            if not change.is_applied and error is None:
                self.share_partition.apply(change.batches)
            elif not change.is_applied:
                self.share_partition.restore(change.held)
            change.end(error)
        # After a refused write, too: what had taken effect before stays so.
        self.share_partition.advance_start()
        return changes
