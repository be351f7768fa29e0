"""Writes the changes of one share-partition, one write at a time.

While a write is under way, further changes wait and become one write together. An acknowledgement takes effect when it
is written. Until then its records are held: nobody can acquire or acknowledge them, and their locks do not expire. A
change that nobody asked for, such as the expiry of a lock, has taken effect already when it is written.
"""

from collections.abc import Callable
from functools import partial

from attrs import define, field, frozen

from kafka_groups.broker.runs import Run
from kafka_groups.broker.share_partitions.in_flight import InFlightState
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.persisted_state import PersisterStateBatch, StateUpdate
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch

__all__ = ["EndedWrite", "StateChange", "StateWriter"]

Written = Callable[[BrokerError | None], None]


@define(eq=False)
class StateChange:
    """A change of hard state.

    Attributes:
        batches: The new states.
        acknowledged: The acknowledgements that caused it.
        done: Called with None when it is written, or with the error.
        is_applied: Whether it has taken effect before it is written.
        held: The runs that wait for it, as they were before.
    """

    batches: tuple[PersisterStateBatch, ...]
    acknowledged: tuple[AcknowledgementBatch, ...] = ()
    done: Written = lambda _error: None
    is_applied: bool = False
    held: tuple[Run[InFlightState], ...] = field(default=(), init=False)


@frozen
class EndedWrite:
    """A write that ended, when its changes have taken effect or were taken back.

    Attributes:
        changes: The changes.
        error: Why they were refused.
        moved_start: Whether the start offset moved.
        is_late: Whether the call that began it has returned before.
    """

    changes: tuple[StateChange, ...]
    error: BrokerError | None
    moved_start: bool
    is_late: bool


class StateWriter:
    """Writes the changes of one share-partition.

    Args:
        share_partition: The share-partition.
        send: Writes a change, and calls a function with None or the error.
        on_written: Called after each write.
    """

    def __init__(
        self,
        share_partition: SharePartition,
        send: Callable[[StateUpdate, Written], None],
        on_written: Callable[["StateWriter", EndedWrite], None],
    ) -> None:
        self.share_partition = share_partition
        self._send = send
        self._on_written = on_written
        self._waiting: list[StateChange] = []
        self._under_way: tuple[StateChange, ...] = ()
        self._is_sending = False

    @property
    def is_busy(self) -> bool:
        """Whether a write is under way, or about to begin."""
        return bool(self._under_way or self._waiting)

    def add(self, change: StateChange) -> None:
        """Write a change, or let it wait for the write that is under way."""
        if change.is_applied:
            self.share_partition.apply(change.batches)
        self._waiting.append(change)
        if not self._under_way:
            self._write()
        if not change.is_applied and (change in self._waiting or change in self._under_way):
            change.held = self.share_partition.hold(change.batches)

    def _write(self) -> None:
        self._under_way, self._waiting = tuple(self._waiting), []
        applied = [batch for change in self._under_way if change.is_applied for batch in change.batches]
        others = [batch for change in self._under_way if not change.is_applied for batch in change.batches]
        self._is_sending = True
        self._send(self.share_partition.update(applied, others), partial(self._written, self._under_way))
        self._is_sending = False

    def _written(self, changes: tuple[StateChange, ...], error: BrokerError | None) -> None:
        self._under_way = ()
        start_offset, is_late = self.share_partition.start_offset, not self._is_sending
        for change in changes:
            if not change.is_applied and error is None:
                self.share_partition.apply(change.batches)
            elif not change.is_applied:
                self.share_partition.restore(change.held)
        moved_start = self.share_partition.start_offset > start_offset
        self._on_written(self, EndedWrite(changes, error, moved_start, is_late))
        if self._waiting and not self._under_way:
            self._write()
