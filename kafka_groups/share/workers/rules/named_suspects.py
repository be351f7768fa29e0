"""Suspects by name: records that ran in a process of this worker when that process was killed."""

from collections import deque
from collections.abc import Iterable, Sequence

from attrs import define, field, frozen

from kafka_groups.types import RecordId, TopicIdPartition

__all__ = ["NamedSuspects", "RunningRange", "listed"]

MOST_NAMED = 1_000
"""The most ranges that are remembered; the oldest are forgotten."""
_MOST_SHOWN = 5


@frozen
class RunningRange:
    """Offsets of a partition that one slot runs.

    Attributes:
        partition: The partition.
        first: The first offset.
        last: The last offset.
    """

    partition: TopicIdPartition
    first: int
    last: int

    def has_any(self, partition: TopicIdPartition, first: int, last: int) -> bool:
        """Return whether it has any of these offsets."""
        return self.partition == partition and self.first <= last and first <= self.last

    def __str__(self) -> str:
        return f"{self.partition}@{self.first}" + (f" to {self.last}" if self.last > self.first else "")


def listed(ranges: Sequence[RunningRange]) -> str:
    """Return the first ranges for a line of the log, and how many there are more."""
    shown = ", ".join(map(str, ranges[:_MOST_SHOWN]))
    return f"{shown} and {len(ranges) - _MOST_SHOWN} more" if len(ranges) > _MOST_SHOWN else shown


@define
class NamedSuspects:
    """The records that were running when a process was killed: one of them may have killed it.

    Every redelivered record is a suspect. These are named, so each of them runs alone, even if its delivery count is
    still 1 because a broker lost count.
    """

    _ranges: deque[RunningRange] = field(factory=lambda: deque(maxlen=MOST_NAMED))

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __contains__(self, place: RecordId) -> bool:
        partition, offset = place
        return self.covers(partition, offset, offset)

    def add(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what a process was running."""
        # The parent, the shared notes and a state directory may name the same run. Without duplicates, the newest 1,000
        # runs are kept and not the newest 1,000 reports of them.
        self._ranges.extend(each for each in ranges if each not in self._ranges)

    def covers(self, partition: TopicIdPartition, first: int, last: int) -> bool:
        """Return whether any of these offsets is a suspect."""
        return any(each.has_any(partition, first, last) for each in self._ranges)
