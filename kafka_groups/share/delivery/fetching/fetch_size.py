"""The size of fetches: large enough for a fast application, and no larger than a slow one can use."""

from attrs import frozen

__all__ = ["FetchSize", "Situation"]

MOST_RECORDS = 4_000
"""The largest adaptive fetch. Beyond this, round trips are no longer the bottleneck."""

_MOST_BYTES = 4 << 20
"""The largest response of an adaptive fetch."""

_PART_OF_LOCK = 8
"""The part of the acquisition lock within which the application should finish a response."""

_PART_OF_LOCKS = 4
"""A response in hand and one in flight each take a quarter of the records that the group may have in flight.

Other members of the group can use the other half.
"""


@frozen
class Situation:
    """The bounds of a fetch at this moment.

    Attributes:
        lock_timeout_ms: How long acquisition locks last.
        pace_ms: How long the application takes for a record.
        leaders: How many leaders are asked at the same time.
        record_locks: How many records of the leader's partitions the group may have in flight.
        held: How many of them this consumer holds.
    """

    lock_timeout_ms: int
    pace_ms: float
    leaders: int
    record_locks: int
    held: int


class FetchSize:
    """The size of the fetches to one leader.

    It doubles when an answer is full and the application already waits for it: then the round trip is the bottleneck.
    It shrinks by a quarter when the application has not taken half of the previous answer yet. If an answer is not
    full, it falls to the number of records in that answer. After a setback it starts from the beginning.

    Args:
        start: Number of records of the first and the smallest fetch: `max.poll.records`.
        fixed: Number of records of every fetch; None to adapt.

    Attributes:
        least: Number of records of the smallest fetch.
    """

    def __init__(self, start: int, fixed: int | None = None) -> None:
        self.least = start if fixed is None else fixed
        self._most_records = max(start, MOST_RECORDS) if fixed is None else fixed
        self._records = self.least
        self._record_bytes = 0.0

    @property
    def has_grown(self) -> bool:
        """True if the application can use more than the smallest fetch."""
        return self._records > self.least

    def reset(self) -> None:
        """Start again after a setback: a lock was lost, the application failed, or records were redelivered."""
        self._records = self.least

    def answered(self, asked: int, brought: int, size_bytes: int, *, is_awaited: bool, waiting: int) -> None:
        """Adapt to the response of a fetch.

        Args:
            asked: Number of records that it requested.
            brought: Number of records that it returned.
            size_bytes: Bytes of their batches.
            is_awaited: Whether the application waits for them.
            waiting: Records of earlier responses that the application has not taken yet.
        """
        # Only the last response counts: sizes of records may change from one part of the log to the next.
        self._record_bytes = size_bytes / max(1, brought)
        # There are four cases. The response was not full, so the partitions have no more at the moment. It was full and
        # the application waited for it: the round trip limits the rate. It was full, and most of the response before
        # still waits: the application limits the rate. Otherwise the two keep pace, and the size stays.
        if brought < asked:
            self._records = max(self.least, min(self._records, brought))
        elif is_awaited:
            self._records = min(2 * self._records, self._most_records)
        elif 2 * waiting > asked:
            self._records = max(self.least, self._records * 3 // 4)

    def ask(self, situation: Situation) -> int:
        """Return how many records to request now."""
        # The bounds hold only for what adapts: a fetch never asks for less than `max.poll.records`, which the
        # application chose.
        return max(self.least, min(self._records, self._most(situation)))

    def _most(self, situation: Situation) -> int:
        time_ms = situation.lock_timeout_ms / _PART_OF_LOCK / situation.leaders
        # Leaders that are asked at the same time share the application's time.
        in_time = time_ms / situation.pace_ms if situation.pace_ms else self._most_records
        quarter = situation.record_locks // _PART_OF_LOCKS
        # What this consumer holds beyond a quarter is subtracted, so that it never locks more than half of the records
        # that the group may have in flight (group.share.partition.max.record.locks; KIP-932, "In-flight records").
        of_partitions = min(quarter, 2 * quarter - situation.held)
        in_bytes = _MOST_BYTES / self._record_bytes if self._record_bytes else self._most_records
        return int(min(in_time, of_partitions, in_bytes))
