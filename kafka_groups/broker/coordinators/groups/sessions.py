"""Sessions of members: a table of deadlines. It is soft state and is lost with the coordinator."""

import heapq

from attrs import frozen

__all__ = ["MemberKey", "SessionTable"]


@frozen(order=True)
class MemberKey:
    """One member of one group."""

    group_id: str
    member_id: str


class SessionTable:
    """The deadline of every session.

    Each heartbeat moves one deadline. The heap keeps outdated deadlines until they reach the top, so both steps are
    cheap.
    """

    def __init__(self) -> None:
        self._deadlines_ms: dict[MemberKey, int] = {}
        self._heap: list[tuple[int, MemberKey]] = []

    def __len__(self) -> int:
        return len(self._deadlines_ms)

    def extend(self, key: MemberKey, deadline_ms: int) -> None:
        """Start a session, or move its deadline."""
        if self._deadlines_ms.get(key) != deadline_ms:
            self._deadlines_ms[key] = deadline_ms
            heapq.heappush(self._heap, (deadline_ms, key))

    def end(self, key: MemberKey) -> None:
        """Drop a session, if it exists."""
        self._deadlines_ms.pop(key, None)

    def next_deadline_ms(self) -> int | None:
        """Return the time at which the next session times out, or None without sessions."""
        while self._heap and self._is_overtaken(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_expired(self, now_ms: int) -> list[MemberKey]:
        """End the sessions whose deadline has passed, earliest first."""
        expired = []
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= now_ms:
            _, key = heapq.heappop(self._heap)
            self.end(key)
            expired.append(key)
        return expired

    def _is_overtaken(self, entry: tuple[int, MemberKey]) -> bool:
        deadline_ms, key = entry
        return self._deadlines_ms.get(key) != deadline_ms
