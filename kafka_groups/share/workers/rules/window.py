"""The window of in-flight offsets of each partition: one unfinished record holds back everything after it.

A broker keeps the state of at most `share.partition.max.record.locks` offsets of a partition, counted from the oldest
that is not finished. Records behind it that are finished count, too. So a record that waits stops its partition when
that many others have been acquired after it, by any member of the group. A member sees what it has acquired itself. The
brokers report how many records behind the oldest are finished, but not what other members have in hand. Still, the
window must be full if the brokers deliver nothing of a partition although it has enough records and the member wants
some.
"""

from collections.abc import Iterable, Sequence

from attrs import define, field, frozen

from kafka_groups.share.group_progress import GroupProgress
from kafka_groups.types import RecordId, TopicIdPartition

__all__ = ["NOT_READY_AT", "WARN_AT", "FullWindow", "RecordWindows", "WindowUse"]

WARN_AT = 0.5
NOT_READY_AT = 0.9
# The window of a fast handler is often full for a moment, because many records are in hand. Only a record that stays
# the oldest for longer than this is what holds back its partition.
HELD_BACK_MS = 5_000
STALLED_MS = 10_000
"""The brokers take turns between partitions, so one that delivers nothing for this long cannot deliver."""


@frozen
class _Stall:
    """A report of the brokers on a partition, and the time since which neither it nor the newest offset has changed."""

    progress: GroupProgress
    newest: int
    since_ms: int

    def goes_on(self, progress: GroupProgress, newest: int) -> bool:
        now, then = (progress.start_offset, progress.finished), (self.progress.start_offset, self.progress.finished)
        return now == then and newest == self.newest


@frozen
class WindowUse:
    """The part of a partition's window that is in use.

    Attributes:
        partition: The partition.
        oldest: The oldest offset in hand.
        used: The share of the window that is known to be in use, from that offset on; may exceed 1.
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
    _told: dict[TopicIdPartition, _Stall] = field(factory=dict)
    _wanted_ms: int = -1

    def acquired(self, partition: TopicIdPartition, last_offset: int) -> None:
        """Note the newest offset acquired."""
        # A redelivery has lower offsets than what was acquired before, and does not shrink the window.
        if last_offset > self._newest.get(partition, -1):
            self._newest[partition] = last_offset

    def told(self, partition: TopicIdPartition, progress: GroupProgress, now_ms: int) -> None:
        """Store the brokers' report on a partition."""
        # A stall begins anew whenever anything has changed in the partition: a record that any member finished moves
        # the start or the number of the finished ones, and a record that came here moves the newest offset.
        newest, before = self._newest.get(partition, -1), self._told.get(partition)
        since_ms = before.since_ms if before is not None and before.goes_on(progress, newest) else now_ms
        self._told[partition] = _Stall(progress, newest, since_ms)

    @property
    def unclear(self) -> Sequence[TopicIdPartition]:
        """The partitions that a record has held back for a while, and whose windows may be fuller than is known."""
        # A window that is known to be full needs no question. A partition whose oldest record changes is not held back,
        # so the brokers are asked about few partitions.
        return [each for each, use in self.uses.items() if use.is_held_back(0) and use.used < NOT_READY_AT]

    @property
    def room(self) -> int:
        """The number of offsets in the windows of all partitions that brought records."""
        # Before the first records it is not known how many partitions this member has, so the room of one is assumed.
        return self.limit * max(1, len(self._newest))

    def measure(self, in_hand: Iterable[RecordId], now_ms: int, *, wants: bool) -> None:
        """Measure the windows by the records in hand.

        Args:
            in_hand: At least the oldest of each partition.
            now_ms: The time.
            wants: Whether the handler wants records that have not come.
        """
        oldest: dict[TopicIdPartition, int] = {}
        for partition, offset in in_hand:
            if offset < oldest.get(partition, offset + 1):
                oldest[partition] = offset
        # A partition that delivers nothing says something about its window only if this handler wanted records
        # meanwhile.
        if wants:
            self._wanted_ms = now_ms
        # With nothing in hand of a partition, this handler does not hold it back. An old report would start the next
        # stall too early.
        self._told = {each: told for each, told in self._told.items() if each in oldest}
        self.uses = {partition: self._use(partition, offset, now_ms) for partition, offset in oldest.items()}

    def _use(self, partition: TopicIdPartition, offset: int, now_ms: int) -> WindowUse:
        # Kafka delivers no new records once the distance from the start to the end of the window has reached the limit
        # (SharePartition.canAcquireRecords and numInFlightRecords). Brokers do not report the end, so the used part is
        # the larger of two lower bounds: what this member has acquired behind the record, and what all members have
        # finished behind it.
        span = 1 + max(self._newest.get(partition, offset) - offset, self._in_group(partition, offset))
        before = self.uses.get(partition)
        since_ms = before.since_ms if before is not None and before.oldest == offset else now_ms
        return WindowUse(partition, offset, span / self.limit, since_ms, now_ms)

    def _in_group(self, partition: TopicIdPartition, oldest: int) -> int:
        """Return how many records behind the oldest in hand are in the window for sure, of those of all members."""
        told = self._told.get(partition)
        # There are three cases. First, the brokers have not been asked yet, as no record has been the oldest for five
        # seconds.
        if told is None:
            return 0
        # Second, the window starts with this worker's record and the partition delivers nothing. Then the window is
        # full, even if other members have most of it in hand, which no report shows.
        if told.progress.start_offset == oldest and self._is_stalled(told, self._newest.get(partition, -1)):
            return self.limit - 1
        # Third, the finished records behind the oldest are counted.
        # The brokers report an earlier start offset until the next record is finished, and count those before `oldest`.
        return told.progress.finished - max(0, oldest - told.progress.start_offset)

    def _is_stalled(self, told: _Stall, newest: int) -> bool:
        """Return whether a partition delivers nothing, although it has enough records and some have been wanted."""
        # A partition without enough records behind the start delivers nothing because it has nothing left. Otherwise
        # ten seconds are enough, as long as records were wanted at their end and none has come.
        has_wanted = self._wanted_ms >= told.since_ms + STALLED_MS and newest == told.newest
        return has_wanted and told.progress.end_offset - told.progress.start_offset >= self.limit

    @property
    def fullest(self) -> WindowUse | None:
        """The partition that a record has held back for a while and that uses most of its window; None if none is."""
        # Whatever its share, a window whose oldest record moves on needs no warning.
        held_back = (use for use in self.uses.values() if use.is_held_back(0))
        return max(held_back, key=lambda use: use.used, default=None)

    @property
    def oldest_ms(self) -> int:
        """The longest time for which a record has been the oldest of its partition."""
        return max((use.age_ms for use in self.uses.values()), default=0)
