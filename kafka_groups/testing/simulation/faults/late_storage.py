"""Logs of coordinators that commit late, refuse records now and then, and lose what was not committed; slow loading."""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.log.internal_log import InternalLog, RecordCodec
from kafka_groups.broker.log.producers import ProducerStates
from kafka_groups.broker.log.store import CoordinatorStorage
from kafka_groups.errors import CoordinatorNotAvailableError, IllegalStateError
from kafka_groups.testing.simulation.faults.seeded_faults import FaultDraws

__all__ = ["LateLog", "LateStorage"]

R = TypeVar("R", bound=Any)

_REFUSED, _LATE = 0.003, 0.2
"""The shares of appends that are refused, and that are committed seconds later."""
_SLOW_LOADS, _SLICES_MS = 0.75, (10, 200, 3_000)
"""The share of loading steps that take time, and their durations."""


class LateStorage(CoordinatorStorage):
    """CoordinatorStorage with faults; what it does after their end takes little time.

    Args:
        rng: Decides.
        draws: Says how often, and counts.

    Attributes:
        draws: Says how often, and counts.
        on_append: Called with the records of each append, before they are committed.
        refuse_if: Called with the records of each append. If it returns True, the append is refused.
    """

    def __init__(self, rng: random.Random, draws: FaultDraws) -> None:
        self._rng = rng
        self.draws = draws
        self.on_append: Callable[[Sequence[Any]], None] = lambda _records: None
        self.refuse_if: Callable[[Sequence[Any]], bool] = lambda _records: False

    def new_log(self, codec: RecordCodec[R]) -> InternalLog[R]:
        """Return a log that commits late."""
        return LateLog(codec, self)

    def next_slice_ms(self) -> int:
        """Loading takes time."""
        return self._rng.choice(_SLICES_MS) if self.draws.strikes(self._rng, "slow_load", _SLOW_LOADS) else 0

    def commit_s(self) -> float:
        """Return how long the next append takes to be committed."""
        is_late = self.draws.strikes(self._rng, "late_append", _LATE)
        return self._rng.uniform(0.5, 4) if is_late else self._rng.uniform(0, 0.01)

    def refuses(self, records: Sequence[Any]) -> bool:
        """Return whether an append is refused."""
        return self.draws.strikes(self._rng, "refused_append", _REFUSED) or self.refuse_if(records)


class LateLog(InternalLog[R]):
    """A log whose records are committed in order, some time after they were appended."""

    def __init__(self, codec: RecordCodec[R], storage: LateStorage) -> None:
        super().__init__(codec)
        self._storage = storage
        self._committed = 0
        self._life = 0
        self._before: deque[tuple[int, ProducerStates]] = deque()

    @property
    def committed_offset(self) -> int:
        """The offset before which no record will be lost."""
        return self._committed

    def append_records(
        self, records: Sequence[R], leader_epoch: int, wall_ms: int, producer: Producer | None = None
    ) -> int:
        """Append, or refuse to."""
        if self._storage.refuses(records):
            raise CoordinatorNotAvailableError
        if producer is not None:
            self._remember_producers()
        offset = super().append_records(records, leader_epoch, wall_ms, producer)
        self._commit_later()
        self._storage.on_append(records)
        return offset

    def append_end(self, marker: EndMarker, leader_epoch: int, wall_ms: int) -> int:
        """Append the marker of a transaction, or refuse to."""
        if self._storage.refuses(()):
            raise CoordinatorNotAvailableError
        self._remember_producers()
        offset = super().append_end(marker, leader_epoch, wall_ms)
        self._commit_later()
        return offset

    def drop_uncommitted(self) -> None:
        """Lose what is not committed."""
        self._life += 1
        if self.end_offset > self._committed:
            self._storage.draws.counts["lost_append"] += 1
        while self._unwritten and self._unwritten[-1].base_offset >= self._committed:
            self._unwritten_count -= self._unwritten.pop().size
        if self._first_unwritten > self.end_offset:
            raise IllegalStateError("Records were written before they were committed, so they cannot be lost any more.")
        self.end_offset = self._committed
        self.epochs.truncated(self._committed)
        if self._before:
            self.producers = self._before[0][1]
            self._before.clear()

    def _remember_producers(self) -> None:
        """Remember what is known of producers, to go back to it if the next append is lost."""
        self._before.append((self.end_offset, self.producers.copy()))

    def _commit_later(self) -> None:
        commit = partial(self._commit, self.end_offset, self._life)
        asyncio.get_running_loop().call_later(self._storage.commit_s(), commit)

    def _commit(self, end_offset: int, lifetime: int) -> None:
        if lifetime == self._life and end_offset > self._committed:
            self._committed = end_offset
            while self._before and self._before[0][0] < end_offset:
                self._before.popleft()
            self.on_committed()
