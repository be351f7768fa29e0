"""Logs of coordinators that commit late, refuse records now and then, and lose what was not committed; slow loading."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from kafka_groups.broker.log.internal_log import InternalLog, RecordCodec
from kafka_groups.broker.log.store import CoordinatorStorage
from kafka_groups.errors import CoordinatorNotAvailableError

R = TypeVar("R", bound=Any)

_REFUSED, _SLOW = 0.003, 0.2
"""How many appends are refused, and how many are committed seconds later."""


class LateStorage(CoordinatorStorage):
    """CoordinatorStorage with a plan of faults; what it does after `stop` takes little time.

    Args:
        rng: Decides.
        counts: Counts what struck, by class.
    """

    def __init__(self, rng: random.Random, counts: Counter[str]) -> None:
        self.rng = rng
        self.counts = counts
        self.is_on = True

    def stop(self) -> None:
        """Refuse nothing from now on, and commit soon."""
        self.is_on = False

    def new_log(self, codec: RecordCodec[R]) -> InternalLog[R]:
        """A log that commits late."""
        return LateLog(codec, self)

    def next_slice_ms(self) -> int:
        """Loading takes time."""
        return self.rng.choice((0, 10, 200, 3_000)) if self.is_on else 0

    def commit_s(self) -> float:
        """How long the next append takes to be committed."""
        if self.is_on and self.rng.random() < _SLOW:
            self.counts["late append"] += 1
            return self.rng.uniform(0.5, 4)
        return self.rng.uniform(0, 0.01)

    def refuses(self) -> bool:
        """Whether the next append is refused."""
        if not self.is_on or self.rng.random() >= _REFUSED:
            return False
        self.counts["refused append"] += 1
        return True


class LateLog(InternalLog[R]):
    """A log whose records are committed in order, some time after they were appended."""

    def __init__(self, codec: RecordCodec[R], storage: LateStorage) -> None:
        super().__init__(codec)
        self._storage = storage
        self._committed = 0
        self._life = 0

    @property
    def committed_offset(self) -> int:
        """The offset before which no record will be lost."""
        return self._committed

    @property
    def high_watermark(self) -> int:
        """What consumers may read."""
        return self._committed

    def append_records(self, records: Sequence[R], leader_epoch: int, wall_ms: int) -> int:
        """Append, or refuse to."""
        if self._storage.refuses():
            raise CoordinatorNotAvailableError
        offset = super().append_records(records, leader_epoch, wall_ms)
        commit = partial(self._commit, self.end_offset, self._life)
        asyncio.get_running_loop().call_later(self._storage.commit_s(), commit)
        return offset

    def drop_uncommitted(self) -> None:
        """Lose what is not committed."""
        self._life += 1
        if self.end_offset > self._committed:
            self._storage.counts["lost append"] += 1
        while self._unwritten and self._unwritten[-1].base_offset >= self._committed:
            self._unwritten_count -= len(self._unwritten.pop().records)
        assert self._first_unwritten <= self.end_offset
        self.end_offset = self._committed

    def _commit(self, end_offset: int, life: int) -> None:
        if life == self._life and end_offset > self._committed:
            self._committed = end_offset
            self.on_committed()
