"""The rules for what may go from a log: segments by their age and size (retention), and the part to compact."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import frozen

from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.log.segment import Segment

__all__ = ["Cleanable", "CleaningRules", "ExpiredSegments", "cleanable", "delete_expired"]

_NO_LIMIT = -1


@frozen(kw_only=True)
class CleaningRules:
    """A topic's configuration for the cleaner.

    Attributes:
        deletes: Whether old segments are deleted (`cleanup.policy`).
        compacts: Whether only the last record of each key is kept (`cleanup.policy`).
        retention_ms: The age at which a segment is deleted (`retention.ms`), or -1.
        retention_bytes: The size that a log keeps at least when segments are deleted (`retention.bytes`), or -1.
        segment_bytes: The largest segment that compaction makes of smaller ones (`segment.bytes`).
        min_dirty_ratio: The part of a log that must be new before it is compacted (`min.cleanable.dirty.ratio`).
        min_lag_ms: The age below which segments are not compacted (`min.compaction.lag.ms`).
        max_lag_ms: The age at which a segment must be compacted (`max.compaction.lag.ms`).
        delete_retention_ms: How long tombstones and markers stay after their first compaction
            (`delete.retention.ms`).
    """

    deletes: bool = True
    compacts: bool = False
    retention_ms: int = 604_800_000
    retention_bytes: int = _NO_LIMIT
    segment_bytes: int = 1_073_741_824
    min_dirty_ratio: float = 0.5
    min_lag_ms: int = 0
    max_lag_ms: int = 2**63 - 1
    delete_retention_ms: int = 86_400_000


@frozen
class Cleanable:
    """The part of a log that compaction may touch: whole segments.

    Attributes:
        dirty_offset: The offset before which the log has been compacted.
        end_offset: The offset of the first segment that must stay as it is.
        clean_bytes: The size of the segments before `dirty_offset`.
        dirty_bytes: The size of those from there to `end_offset`.
        is_overdue: Whether records have been waiting for longer than `max.compaction.lag.ms`.
    """

    dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        """The part that is new."""
        return self.dirty_bytes / max(self.clean_bytes + self.dirty_bytes, 1)

    def is_due(self, rules: CleaningRules) -> bool:
        """Return whether it is time to compact the log."""
        # A log that is overdue goes even if little of it is new (LogCleanerManager.grabFilthiestCompactedLog in Kafka).
        return self.dirty_bytes > 0 and (self.is_overdue or self.dirty_ratio > rules.min_dirty_ratio)


# ---------------------------------------------------------------------------------------------- retention


@frozen
class ExpiredSegments:
    """Segments that were deleted.

    Attributes:
        by_size: Those that went because of `retention.bytes`.
        by_age: Those that went because of `retention.ms`.
    """

    by_size: Sequence[Segment]
    by_age: Sequence[Segment]

    def __bool__(self) -> bool:
        return bool(self.by_size or self.by_age)


def delete_expired(log: PartitionLog, rules: CleaningRules, wall_ms: int) -> ExpiredSegments:
    """Delete the segments that `retention.bytes` and `retention.ms` do not keep.

    As in Kafka, the active segment may be among them: a new one begins.
    """
    # With `compact` alone, a log keeps its segments however old they are.
    if not rules.deletes:
        return ExpiredSegments((), ())
    # The size first, as in UnifiedLog.deleteOldSegments: the order decides which rule is named for a segment that both
    # would delete.
    by_size = _delete_first(log, _beyond_size(log, rules))
    return ExpiredSegments(by_size, _delete_first(log, _beyond_age(log, rules, wall_ms)))


def _delete_first(log: PartitionLog, expired: Sequence[Segment]) -> Sequence[Segment]:
    if expired:
        # A log has an active segment at any time, so a new one has to be there before the old one goes.
        log.roll()  # for the case that the active segment is among them
        log.delete_records(log.segments[len(expired)].base_offset)
    return expired


def _beyond_size(log: PartitionLog, rules: CleaningRules) -> list[Segment]:
    surplus = log.size_bytes - rules.retention_bytes
    # Segments go as a whole, and only while the rest has `retention.bytes` at least
    # (UnifiedLog.deleteRetentionSizeBreachedSegments).
    if rules.retention_bytes < 0 or surplus < 0:
        return []
    expired = []
    for segment in log.segments:
        surplus -= segment.size_bytes
        # An empty active segment stays: there is nothing to gain.
        if surplus < 0 or not len(segment):
            break
        expired.append(segment)
    return expired


def _beyond_age(log: PartitionLog, rules: CleaningRules, wall_ms: int) -> list[Segment]:
    if rules.retention_ms < 0:
        return []
    expired = []
    for segment in log.segments:
        # The largest timestamp counts, so one record with a timestamp in the future keeps its segment, and those after
        # it (UnifiedLog.deleteRetentionMsBreachedSegments).
        if not len(segment) or wall_ms - segment.largest_timestamp_ms <= rules.retention_ms:
            break
        expired.append(segment)
    return expired


# --------------------------------------------------------------------------------------------- compaction


def cleanable(log: PartitionLog, rules: CleaningRules, wall_ms: int) -> Cleanable:
    """Return what compaction may touch: not the active segment, nothing unstable, and nothing too new."""
    segments = log.segments
    # Deleted records cannot be compacted, so the log may begin behind the point that compaction has reached
    # (LogCleanerManager.cleanableOffsets in Kafka).
    dirty_offset = max(log.clean_offset, log.log_start_offset)
    first = _index_of(segments, dirty_offset)
    after = first + sum(1 for _ in _compactable(segments[first:], log.last_stable_offset, rules, wall_ms))
    return Cleanable(
        dirty_offset,
        max(segments[after].base_offset, dirty_offset),
        sum(segment.size_bytes for segment in segments[:first]),
        sum(segment.size_bytes for segment in segments[first:after]),
        # Segments without timestamps do not count (LogCleanerManager.maxCompactionDelay).
        any(0 < segment.first_timestamp_ms < wall_ms - rules.max_lag_ms for segment in segments[first:-1]),
    )


def _compactable(
    segments: Sequence[Segment], stable_offset: int, rules: CleaningRules, wall_ms: int
) -> Iterator[Segment]:
    for segment, following in pairwise(segments):
        # There are three limits (LogCleanerManager.cleanableOffsets). The active segment is not compacted: `pairwise`
        # leaves out the last one. A segment that is too new stops the pass. And nothing at or after the last stable
        # offset may go, because it is not known yet whether its transaction is committed. Kafka stops within a segment
        # there, and this one before it.
        is_new = rules.min_lag_ms > 0 and segment.largest_timestamp_ms > wall_ms - rules.min_lag_ms
        if is_new or following.base_offset > stable_offset:
            return
        yield segment


def _index_of(segments: Sequence[Segment], offset: int) -> int:
    """Return the index of the segment with an offset."""
    return max(sum(segment.base_offset <= offset for segment in segments) - 1, 0)
