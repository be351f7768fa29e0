"""Sessions of members: a table of deadlines. It is soft state and is lost with the coordinator."""

from attrs import frozen

from kafka_groups.broker.coordinators.timers import Timers

__all__ = ["MemberKey", "SessionTable"]


@frozen(order=True)
class MemberKey:
    """One member of one group."""

    group_id: str
    member_id: str


class SessionTable:
    """The deadline of every session. Each heartbeat moves one of them."""

    def __init__(self) -> None:
        self._timers: Timers[MemberKey] = Timers()

    def __len__(self) -> int:
        return len(self._timers)

    def extend(self, key: MemberKey, deadline_ms: int) -> None:
        """Start a session, or move its deadline."""
        self._timers.set(key, deadline_ms)

    def end(self, key: MemberKey) -> None:
        """Drop a session, if it exists."""
        self._timers.cancel(key)

    def next_deadline_ms(self) -> int | None:
        """Return the time at which the next session times out, or None without sessions."""
        return self._timers.next_deadline_ms()

    def take_expired(self, now_ms: int) -> list[MemberKey]:
        """End the sessions whose deadline has passed, earliest first."""
        expired = []
        while (key := self._timers.take_due(now_ms)) is not None:
            expired.append(key)
        return expired
