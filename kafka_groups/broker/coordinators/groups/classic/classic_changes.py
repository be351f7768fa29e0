"""The effects of one operation on classic groups beyond soft state: records, replies and deadlines."""

import enum
from collections.abc import Callable
from typing import TypeVar

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember
from kafka_groups.broker.coordinators.groups.classic.settings import ClassicGroupSettings
from kafka_groups.broker.coordinators.result import Reply, Result
from kafka_groups.broker.coordinators.timers import Timers
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, GroupMetadataValue

__all__ = ["ClassicChanges", "ClassicTimers", "TimerKey", "TimerKind"]

Response = TypeVar("Response")

_SHORTEST_MS = 1
"""Deadlines lie in the future, so that what an operation sets is not due while it runs."""


class TimerKind(enum.IntEnum):
    """The purpose of a deadline."""

    SESSION = 1
    """A member must send a heartbeat, or an id must be used that was given to one that is yet to join."""
    JOIN = 2
    """A round waits for members."""
    SYNC = 3
    """A generation waits for SyncGroup requests."""


@frozen(order=True)
class TimerKey:
    """The owner of a deadline, a member or a whole group, and its purpose."""

    group_id: str
    kind: TimerKind
    member_id: str = ""


ClassicTimers = Timers[TimerKey]
"""The deadlines of all groups of a shard."""


class ClassicChanges:
    """The records and replies of one operation, and the clocks that it reads.

    Args:
        settings: The settings of the broker.
        timers: The deadlines.
        now_ms: The time.
        wall_ms: The wall-clock time.
    """

    def __init__(self, settings: ClassicGroupSettings, timers: ClassicTimers, now_ms: int, wall_ms: int) -> None:
        self.settings = settings
        self.wall_ms = wall_ms
        self._timers = timers
        self._now_ms = now_ms
        self._records: list[ClassicGroupMetadata] = []
        self._replies: dict[int, object] = {}

    # ---------------------------------------------------------------------------------------- the result

    def write(self, group: ClassicGroup, value: GroupMetadataValue, stored: Callable[[], None] = lambda: None) -> None:
        """Return a record, and do something when it is stored."""
        group.announce(value, stored)
        self._records.append(ClassicGroupMetadata(group.group_id, value))

    def reply(self, token: int | None, response: object) -> None:
        """Respond to a request that was parked, if there is one."""
        if token is not None:
            self._replies[token] = response

    def result(self, response: Response) -> Result[Response, ClassicGroupMetadata]:
        """Return the result of the operation."""
        effects = tuple(Reply(token, response) for token, response in self._replies.items())
        return Result(response, tuple(self._records), effects)

    def parked(self, token: int, expected: type[Response]) -> Result[Response | None, ClassicGroupMetadata]:
        """Return the result of an operation whose request waits, unless the operation itself has responded to it."""
        response = self._replies.pop(token, None)
        result = self.result(response if isinstance(response, expected) else None)
        return result if response is not None else evolve(result, parked=token)

    # ----------------------------------------------------------------------------------------- deadlines

    def start_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None) -> None:
        """Expect a heartbeat within the session timeout of a member, or within another time."""
        self.expect(group, member.member_id, member.session_timeout_ms if timeout_ms is None else timeout_ms)

    def expect(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Expect something of a member, or of one that is yet to join."""
        self._set(TimerKey(group.group_id, TimerKind.SESSION, member_id), timeout_ms)

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        """Expect nothing more of a member."""
        self._timers.cancel(TimerKey(group.group_id, TimerKind.SESSION, member_id))

    def wait(self, group: ClassicGroup, kind: TimerKind, timeout_ms: int) -> None:
        """Let a group wait for its members."""
        self._set(TimerKey(group.group_id, kind), timeout_ms)

    def stop_waiting(self, group: ClassicGroup, kind: TimerKind) -> None:
        """End such a wait."""
        self._timers.cancel(TimerKey(group.group_id, kind))

    def _set(self, key: TimerKey, timeout_ms: int) -> None:
        self._timers.set(key, self._now_ms + max(timeout_ms, _SHORTEST_MS))
