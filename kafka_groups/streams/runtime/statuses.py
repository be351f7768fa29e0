"""Statuses of a group that does not work: some are waited out, others end the worker."""

import logging
from collections.abc import Sequence

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.member_events import StatusesChanged, StreamsMembershipEvent

__all__ = ["GroupStatuses", "asks_for_shutdown", "is_shutdown"]

_log = logging.getLogger(__name__)

_MISSING_MS = 10_000
"""The time for which source topics may be missing: two heartbeat intervals of 5 s, as in Java."""

_PASSING = frozenset({StreamsStatus.ASSIGNMENT_DELAYED, StreamsStatus.MISSING_INTERNAL_TOPICS})
"""Statuses of every group that starts."""


class GroupStatuses:
    """The statuses of the group. Topics that are missing end the worker after a while, wrong ones at once."""

    def __init__(self) -> None:
        self._missing: StreamsGroupHeartbeatStatus | None = None
        self._missing_since_ms = 0

    def __repr__(self) -> str:
        return f"<GroupStatuses: missing {self._missing}>"

    def changed(self, statuses: Sequence[StreamsGroupHeartbeatStatus], now_ms: int) -> None:
        """Note the statuses that the group has now.

        Raises:
            StreamsError: Topics have numbers of partitions that the topology cannot work with.
        """
        missing = None
        for status in statuses:
            level = logging.INFO if status.status_code in _PASSING else logging.WARNING
            _log.log(level, "The streams group says: %s", _told(status))
            if status.status_code == StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS:
                raise StreamsError(f"{_told(status)}. Create the topics with the numbers of partitions that match.")
            if status.status_code == StreamsStatus.MISSING_SOURCE_TOPICS:
                missing = status
        if missing is not None and self._missing is None:
            self._missing_since_ms = now_ms
        self._missing = missing

    def check(self, now_ms: int) -> None:
        """Raise an error if source topics have been missing for too long.

        Raises:
            StreamsError: They have.
        """
        if self._missing is not None and now_ms - self._missing_since_ms >= _MISSING_MS:
            raise StreamsError(f"{_told(self._missing)}. Create the topics, and start the application again.")


def asks_for_shutdown(statuses: Sequence[StreamsGroupHeartbeatStatus]) -> bool:
    """Return whether a member has asked all members to shut down."""
    return any(status.status_code == StreamsStatus.SHUTDOWN_APPLICATION for status in statuses)


def is_shutdown(event: StreamsMembershipEvent) -> bool:
    """Return whether an event tells of that."""
    return isinstance(event, StatusesChanged) and asks_for_shutdown(event.statuses)


def _told(status: StreamsGroupHeartbeatStatus) -> str:
    known = {each.value: each.name for each in StreamsStatus}
    name = known.get(status.status_code, f"status {status.status_code}")
    return f"{name}: {status.status_detail}" if status.status_detail else name
