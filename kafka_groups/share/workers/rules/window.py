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


@frozen
class WindowUse:
    """How much of a partition's window is in use.

    Attributes:
        partition: The partition.
        oldest: The oldest offset in hand.
        used: The share of the window from that offset to the newest offset acquired; may exceed 1.
    """

    partition: TopicIdPartition
    oldest: int
    used: float


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

    def measure(self, in_hand: Iterable[RecordId]) -> None:
        """Measure the windows by the records in hand."""
        oldest: dict[TopicIdPartition, int] = {}
        for partition, offset in in_hand:
            if offset < oldest.get(partition, offset + 1):
                oldest[partition] = offset
        self.uses = {partition: self._use(partition, offset) for partition, offset in oldest.items()}

    def _use(self, partition: TopicIdPartition, offset: int) -> WindowUse:
        span = self._newest.get(partition, offset) - offset + 1
        return WindowUse(partition, offset, span / self.limit)

    @property
    def fullest(self) -> WindowUse | None:
        """The partition that uses most of its window; None if nothing is in hand."""
        return max(self.uses.values(), key=lambda use: use.used, default=None)
