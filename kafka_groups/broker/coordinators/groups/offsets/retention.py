"""Looks for committed offsets that have expired: some at a time, at regular intervals."""

from collections import deque
from collections.abc import Callable, Iterable

from attrs import frozen

from kafka_groups.broker.coordinators.groups.offsets.pending import PendingOffsets
from kafka_groups.broker.coordinators.groups.offsets.table import CommittedOffsets
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit, OffsetCommitValue
from kafka_groups.types import TopicPartition

__all__ = ["Expired", "ExpiryBase", "OffsetRetention", "RetentionPolicy"]

ExpiryBase = Callable[[str, str, OffsetCommitValue], int | None]
"""(group, topic, offset) → the time from which `offsets.retention.minutes` count, or None if it does not expire."""
_GROUPS_AT_ONCE = 200
_NOT_SET = -1


@frozen
class RetentionPolicy:
    """The time that offsets are kept, and the interval between checks, in milliseconds."""

    retention_ms: int
    check_interval_ms: int


@frozen
class Expired:
    """Expired offsets of one group: the records that remove them, and whether no other offsets remain."""

    group_id: str
    records: tuple[OffsetCommit, ...]
    is_all: bool


class OffsetRetention:
    """Finds committed offsets that have expired.

    Args:
        offsets: The committed offsets.
        pending: The offsets of open transactions. What they may change does not expire.
        policy: The retention of offsets.
        base_of: From which time on.
    """

    def __init__(
        self, offsets: CommittedOffsets, pending: PendingOffsets, policy: RetentionPolicy, base_of: ExpiryBase
    ) -> None:
        self._offsets = offsets
        self._pending = pending
        self._policy = policy
        self._base_of = base_of
        self._left: deque[str] = deque()
        self.next_ms = 0

    def start(self, now_ms: int) -> None:
        """Look for the first time after one interval."""
        self.next_ms = now_ms + self._policy.check_interval_ms

    def look(self, group_ids: Iterable[str], now_ms: int, wall_ms: int) -> list[Expired]:
        """Look at the next few of these groups. The others come with the next calls."""
        if now_ms < self.next_ms:
            return []
        if not self._left:
            # A new round of checks. It goes in parts, so that no turn of the event loop looks at all groups.
            self._left.extend(group_ids)
        some = [self._left.popleft() for _ in range(min(len(self._left), _GROUPS_AT_ONCE))]
        self.next_ms = now_ms + (1 if self._left else self._policy.check_interval_ms)
        return [self._expired_in(group_id, wall_ms) for group_id in some]

    def _expired_in(self, group_id: str, wall_ms: int) -> Expired:
        of_group = self._offsets.of_group(group_id)
        records = tuple(
            OffsetCommit(group_id, topic, partition, None)
            for topic, of_topic in of_group.items()
            for partition, committed in of_topic.items()
            # A pending offset would come back with the end of its transaction
            # (OffsetMetadataManager.cleanupExpiredOffsets in Kafka).
            if (group_id, TopicPartition(topic, partition)) not in self._pending
            and self._has_expired(group_id, topic, committed, wall_ms)
        )
        # A group without members goes with its last offset, but not while a transaction may bring one
        # (OffsetMetadataManager.cleanupExpiredOffsets).
        is_all = len(records) == sum(map(len, of_group.values())) and not self._pending.of_group(group_id)
        return Expired(group_id, records, is_all)

    def _has_expired(self, group_id: str, topic: str, committed: OffsetCommitValue, wall_ms: int) -> bool:
        base_ms = self._base_of(group_id, topic, committed)
        # The cases of OffsetExpirationConditionImpl.isOffsetExpired in Kafka, after the one in which the group still
        # needs the offset.
        if base_ms is None:
            return False
        # Old clients named a retention of their own with each commit, and such offsets are stored with their time.
        if committed.expire_timestamp_ms != _NOT_SET:
            return wall_ms >= committed.expire_timestamp_ms
        return wall_ms - base_ms >= self._policy.retention_ms
