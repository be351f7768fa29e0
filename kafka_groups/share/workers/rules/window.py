"""The window of in-flight offsets of each partition: one unfinished record holds back everything after it.

A broker keeps the state of at most `share.partition.max.record.locks` offsets of a partition, counted from the oldest
that is not finished. Records behind it that are finished count, too. So a record that waits stops its partition when
that many others have been acquired after it.
"""

from collections.abc import Iterable

from attrs import define, field, frozen

from kafka_groups.types import RecordId, TopicIdPartition

__all__ = ["NOT_READY_AT", "WARN_AT", "FullWindow", "RecordWindows", "WindowUse"]

WARN_AT = 0.5
NOT_READY_AT = 0.9
HELD_BACK_MS = 5_000


@frozen
class WindowUse:
    """The part of a partition's window that is in use.

    Attributes:
        partition: The partition.
        oldest: The oldest offset in hand.
        used: The share of the window from that offset to the newest offset acquired; may exceed 1.
        since_ms: Since when this has been the oldest offset.
        now_ms: When this was measured.
    """

    partition: TopicIdPartition
    oldest: int
    used: float
    since_ms: int = 0
    now_ms: int = 0

    @property
    def age_ms(self) -> int:
        """For how long the offset has been the oldest."""
        return self.now_ms - self.since_ms

    def is_held_back(self, share: float) -> bool:
        """Return whether one record has held back the partition for a while, and uses that share of its window.

        Windows of fast handlers are full, too, but their records move on.
        """
        return self.used >= share and self.age_ms >= HELD_BACK_MS


class FullWindow(Exception):  # noqa: N818 - the reason in a dead letter's header
    """An unfinished record holds back its partition."""


@define
class RecordWindows:
    """The windows of a handler's partitions.

    Attributes:
        limit: The group's `share.partition.max.record.locks`.
        uses: The partitions with records in hand, as of the last `measure`.
    """

    limit: int
    uses: dict[TopicIdPartition, WindowUse] = field(factory=dict)
    _newest: dict[TopicIdPartition, int] = field(factory=dict)

    def acquired(self, partition: TopicIdPartition, last_offset: int) -> None:
        """Note the newest offset acquired."""
        if last_offset > self._newest.get(partition, -1):
            self._newest[partition] = last_offset

    @property
    def room(self) -> int:
        """The number of offsets in the windows of all partitions that brought records."""
        return self.limit * max(1, len(self._newest))

    def measure(self, in_hand: Iterable[RecordId], now_ms: int) -> None:
        """Measure the windows by the records in hand."""
        oldest: dict[TopicIdPartition, int] = {}
        for partition, offset in in_hand:
            if offset < oldest.get(partition, offset + 1):
                oldest[partition] = offset
        self.uses = {partition: self._use(partition, offset, now_ms) for partition, offset in oldest.items()}

    def _use(self, partition: TopicIdPartition, offset: int, now_ms: int) -> WindowUse:
        span = self._newest.get(partition, offset) - offset + 1
        before = self.uses.get(partition)
        since_ms = before.since_ms if before is not None and before.oldest == offset else now_ms
        return WindowUse(partition, offset, span / self.limit, since_ms, now_ms)

    @property
    def fullest(self) -> WindowUse | None:
        """The partition that a record has held back for a while and that uses most of its window; None if none is."""
        held_back = (use for use in self.uses.values() if use.is_held_back(0))
        return max(held_back, key=lambda use: use.used, default=None)

    @property
    def oldest_ms(self) -> int:
        """For how long the record that has been the oldest of its partition for longest has been that."""
        return max((use.age_ms for use in self.uses.values()), default=0)
