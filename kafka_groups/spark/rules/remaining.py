"""The number of records that a share group may have left, from what brokers tell: unknown is not the same as none.

Brokers tell the lag of a partition as soon as its leader has written the group's state there (KIP-1226). It does so
with the first acknowledgement, and when the lock of a record expires. Before that nobody but the leader knows where the
group began, so these rules reckon with the ends of the log and with `share.auto.offset.reset`.
"""

import enum
from collections.abc import Iterable, Mapping

from attrs import field, frozen

from kafka_groups.admin.rules.returned_values import ShareOffset
from kafka_groups.errors.texts import counted
from kafka_groups.types import TopicPartition

__all__ = ["DEFAULT_PATIENCE_MS", "GroupPositions", "Remaining", "remaining_of", "unread_starts"]

DEFAULT_PATIENCE_MS = 45_000
"""The longer one of Kafka's defaults of `share.record.lock.duration.ms` and `share.session.timeout.ms`."""
_SHOWN = 3
_LONGER = (
    "give a drained_for that is longer than the locks and sessions of the group, so that records of consumers that"
)


@frozen
class Remaining:
    """The number of records that a group may have left.

    Attributes:
        least: The number that is left for certain.
        most: The number that is left at most; None if that is unknown.
        doubt: Why the two differ, with the remedy; None if they are equal.
        patience_ms: For how long no record must arrive so that a reader may end in spite of the doubt. Until then,
            brokers may redeliver records of consumers that were killed; then they also tell the lag. 0 if waiting does
            not help.
    """

    least: int
    most: int | None
    doubt: str | None = None
    patience_ms: int = 0

    @classmethod
    def unanswered(cls, group_id: str, error: Exception) -> "Remaining":
        """Return what is known if the brokers did not answer: nothing."""
        doubt = (
            f"It is unknown whether records are left for the share group {group_id}, because the brokers did not"
            f" answer: {error}"
        )
        return cls(0, None, doubt, DEFAULT_PATIENCE_MS)

    @property
    def is_known(self) -> bool:
        """True if the number is exact."""
        return self.least == self.most


@frozen(kw_only=True)
class GroupPositions:
    """The answers of brokers about a group and all partitions of its topics.

    Attributes:
        group_id: The group.
        begins: The start offset of each partition's log.
        ends: The end of each partition: the last stable offset for a group that reads committed records only.
        offsets: Start offset and lag of the partitions that a member has had; None if the brokers do not tell.
        refusal: Why they do not tell.
        reset: The group's `share.auto.offset.reset`; None if it is unknown.
        since: Where `by_duration:` begins now in each partition; empty for other strategies.
        high_watermarks: The end of each partition with open transactions, as it was before `offsets`; empty if the
            group reads their records.
        unread: What `unread_starts` returned before the members began that may have read them since.
        patience_ms: The longer one of the group's lock duration and session timeout.
    """

    group_id: str
    begins: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    offsets: Mapping[TopicPartition, ShareOffset] | None
    refusal: str = ""
    reset: str | None = None
    since: Mapping[TopicPartition, int] = field(factory=dict)
    high_watermarks: Mapping[TopicPartition, int] = field(factory=dict)
    unread: Mapping[TopicPartition, int] = field(factory=dict)
    patience_ms: int = DEFAULT_PATIENCE_MS

    def span(self, partition: TopicPartition, start: int = 0) -> int:
        """Return the number of offsets from a start to the end of a partition's log."""
        return max(0, self.ends[partition] - max(self.begins[partition], start))


class _Reason(enum.IntEnum):
    """Reasons why the lag of a partition is unknown, the most general one first."""

    REFUSED = enum.auto()
    NO_LAG = enum.auto()
    NO_START = enum.auto()


@frozen
class _Part:
    """The records of one partition."""

    least: int
    most: int
    reason: _Reason = _Reason.NO_START


def remaining_of(told: GroupPositions) -> Remaining:
    """Return how many records are left for the group in all partitions."""
    parts = {partition: _part_of(told, partition) for partition in told.ends}
    least = sum(part.least for part in parts.values())
    most = sum(part.most for part in parts.values())
    in_doubt = {partition: part for partition, part in parts.items() if part.least < part.most}
    if not in_doubt:
        return Remaining(least, most)
    reasons = {part.reason for part in in_doubt.values()}
    # Waiting helps only where the group has no start offset yet: once a lock expires, the leader writes the state, and
    # brokers tell the lag. It does not help if the brokers refuse the question, or do not know the lag at all.
    patience_ms = told.patience_ms if _Reason.NO_START in reasons else 0
    return Remaining(least, most, _doubt(told, min(reasons), most - least, in_doubt), patience_ms)


def unread_starts(told: GroupPositions) -> Mapping[TopicPartition, int]:
    """Return where the group begins at the earliest in partitions for which it has no state.

    No member of the group has had them yet, so it cannot begin before the place where it would begin now. The ends must
    have been asked for before the state.
    """
    # With `earliest`, the group begins with the first record, wherever that is, so nothing is left out. Without an
    # answer, nothing is known.
    if told.offsets is None or told.reset in (None, "earliest"):
        return {}
    starts = {partition: told.since.get(partition, end) for partition, end in told.ends.items()}
    return {partition: start for partition, start in starts.items() if partition not in told.offsets and start > 0}


def _part_of(told: GroupPositions, partition: TopicPartition) -> _Part:
    # There are four cases. First, the brokers refuse to tell anything: all records of the log may be left, or none.
    if told.offsets is None:
        return _Part(0, told.span(partition), _Reason.REFUSED)
    offset = told.offsets.get(partition)
    # Second, no member has finished a record there, so the broker has no start offset.
    if offset is None or offset.start_offset is None:
        return _without_start(told, partition, is_new=offset is None)
    most = told.span(partition, offset.start_offset)
    # Third, the start is known, but not how many records behind it are finished, as with brokers before KIP-1226.
    if offset.lag is None:
        return _Part(0, most, _Reason.NO_LAG)
    # Fourth, the number is known.
    # The lag counts records that retention has deleted in the meantime, and those of open transactions.
    hidden = max(0, told.high_watermarks.get(partition, 0) - told.ends[partition])
    known = min(most, max(0, offset.lag - hidden))
    return _Part(known, known)


def _without_start(told: GroupPositions, partition: TopicPartition, *, is_new: bool) -> _Part:
    """Return the records left in a partition where the group has not finished a record.

    Where it began was decided when a member fetched first. So only records after the place where it would begin now are
    left for certain, and all those of the log may be.
    """
    most = told.span(partition, told.unread.get(partition, 0))
    if told.reset is None:
        return _Part(0, most)
    # The group begins with the first record of the log, so all of them are left, and nothing is in doubt.
    if told.reset == "earliest":
        return _Part(told.span(partition), told.span(partition))
    least = told.span(partition, told.since.get(partition, told.ends[partition]))
    # A partition that no member has had yet begins there now, so the number is exact. Otherwise a member may have begun
    # there earlier, so more may be left.
    return _Part(least, least if is_new else max(least, most))  # clocks may differ


def _doubt(told: GroupPositions, reason: _Reason, count: int, partitions: Iterable[TopicPartition]) -> str:
    where = f"Up to {counted(count, 'record')} of {_listed(partitions)} may be left for the share group {told.group_id}"
    if reason is _Reason.REFUSED:
        return (
            f"{where}: the brokers do not tell its offsets ({told.refusal}). Allow its user to DESCRIBE the group and"
            f" the topics, or {_LONGER} were killed are redelivered to this run."
        )
    if reason is _Reason.NO_LAG:
        return (
            f"{where}: these brokers do not tell its lag. Use Kafka 4.2 or newer, or {_LONGER} were killed are"
            " redelivered to this run."
        )
    if told.reset is None:
        return (
            f"{where}: it has not finished a record there yet, and its configuration cannot be read. Allow its user to"
            " DESCRIBE_CONFIGS of the group."
        )
    return (
        f"{where}: it has not finished a record there yet, and with share.auto.offset.reset={told.reset} only the"
        " leaders know where it began. To be sure the next time, set share.auto.offset.reset=earliest, or set its start"
        " offsets while it has no members (`kafka-groups offsets reset`)."
    )


def _listed(partitions: Iterable[TopicPartition]) -> str:
    names = [f"{each.topic}-{each.partition}" for each in sorted(partitions)]
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
