"""The gate that all handlers of a process share: a record that ends the process ends it for all of them.

While a handler copies records on one of their last deliveries, no handler starts a record. A *grave* suspect, which was
running when a process ended or is on one of its last deliveries, has the process to itself: first the other handlers
stop fetching and finish what they hold, so that its end costs their records no delivery.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from attrs import define

from kafka_groups.share.workers.rules.suspects import LONGEST_ALONE_MS

__all__ = ["GateMember", "ProcessGate"]


class GateMember(Protocol):
    """A handler, as the others of its process see it."""

    @property
    def has_records_at_risk(self) -> bool:
        """True while it copies records on one of their last deliveries for the first time."""
        ...

    @property
    def has_grave_suspects(self) -> bool:
        """True while it holds suspects that need the process to themselves, and that it could run."""
        ...

    @property
    def is_drained(self) -> bool:
        """True if it fetches, runs and settles nothing, and holds nothing that it could run but grave suspects."""
        ...

    @property
    def highest_suspect_count(self) -> int:
        """The highest delivery count of its suspects."""
        ...


@define(eq=False)
class _GateEntry:
    member: GateMember
    wake: Callable[[], None] | None = None
    told: object = None


class ProcessGate:
    """Decides what the handlers of a process may start, and when they may fetch.

    A handler whose records wait holds up the others for 30 s at most, and then not again for 30 s.
    """

    def __init__(self) -> None:
        self._entries: list[_GateEntry] = []
        self._asked_ms: int | None = None
        self._alone: GateMember | None = None
        self._alone_ms = 0

    def enter(self, member: GateMember) -> None:
        """Add a handler of the process."""
        self._entries.append(_GateEntry(member))

    def leave(self, member: GateMember) -> None:
        """Remove a handler that has ended."""
        self._entries = [each for each in self._entries if each.member is not member]
        self.is_quiet(member)
        self._wake_others(member)

    def wake_by(self, member: GateMember, wake: Callable[[], None]) -> None:
        """Have a function called when another handler has changed something that this one may wait for."""
        for each in self._entries:
            if each.member is member:
                each.wake = wake

    def tell(self, member: GateMember) -> None:
        """Wake the others if they may have waited for what has happened to a handler."""
        # Most workers have one handler, and the gate costs them nothing.
        if len(self._entries) == 1:
            return
        # Whether a handler is drained changes all the time, and matters to others only while one of them has grave
        # suspects. Otherwise handlers would wake each other with each record.
        has_suspects = any(each.member.has_grave_suspects for each in self._entries)
        state = (member.has_records_at_risk, member.has_grave_suspects, has_suspects and member.is_drained)
        for each in self._entries:
            if each.member is member and each.told != state:
                each.told = state
                self._wake_others(member)

    def _wake_others(self, member: GateMember) -> None:
        for each in self._entries:
            if each.member is not member and each.wake is not None:
                each.wake()

    # ---------------------------------------------------------------------------------------- what may begin

    @property
    def is_shut(self) -> bool:
        """True while any handler copies records on one of their last deliveries. Nothing new starts."""
        # Each run comes by here, and most workers have one handler.
        entries = self._entries
        if len(entries) == 1:
            return entries[0].member.has_records_at_risk
        return any(each.member.has_records_at_risk for each in entries)

    def may_start(self, member: GateMember, now_ms: int) -> bool:
        """Return whether a handler may start records, as far as the suspects of others are concerned."""
        return len(self._entries) == 1 or self._resumes_ms(member, now_ms) is None

    def may_fetch(self, member: GateMember, now_ms: int) -> bool:
        """Return whether a handler may fetch. What it acquires while a grave suspect waits or runs is in danger."""
        return self.may_start(member, now_ms) and not self.is_asked(member, now_ms)

    def is_asked(self, member: GateMember, now_ms: int) -> bool:
        """Return whether a handler should finish what it holds, as another one has grave suspects."""
        if len(self._entries) == 1 or not any(other.has_grave_suspects for other in self._others(member)):
            return False
        return self._is_reserved(now_ms)

    def may_isolate(self, member: GateMember, now_ms: int) -> bool:
        """Return whether a handler may start a grave suspect: it is its turn, and the others are done."""
        if len(self._entries) == 1:
            return True
        # Every other 30 seconds belong to the other handlers, which suspects without end would starve otherwise. And
        # two suspects never run at the same time.
        if not self._is_reserved(now_ms) or self._resumes_ms(member, now_ms) is not None:
            return False
        return self.has_turn(member) and all(other.is_drained for other in self._others(member))

    def has_turn(self, member: GateMember) -> bool:
        """Return whether a handler with grave suspects is the next one that runs them.

        Each delivery reverses the order of the handlers, so that all of them have their turn.
        """
        # The reason is the same as for the order of a handler's own suspects: behind a record that kills the process
        # each time, the suspects of later handlers would use up their deliveries without ever running.
        asking = [each.member for each in self._entries if each.member.has_grave_suspects or each.member is member]
        is_backwards = max(each.highest_suspect_count for each in asking) % 2 == 1
        return asking[-1 if is_backwards else 0] is member

    def isolated(self, member: GateMember, now_ms: int) -> None:
        """Note that a handler has started a grave suspect."""
        self._alone, self._alone_ms = member, now_ms

    def is_quiet(self, member: GateMember) -> None:
        """Note that nothing of a handler runs, or waits for the broker's confirmation."""
        if self._alone is member:
            self._alone = None
            self._wake_others(member)

    def wakes_ms(self, member: GateMember, now_ms: int) -> int | None:
        """Return the time at which a handler may go on even if nothing happens; None if it waits for no other one."""
        if len(self._entries) == 1:
            return None
        times = [self._resumes_ms(member, now_ms)]
        # Both ends of the interval: when the others may go on, and when the suspects may ask again.
        if self._asked_ms is not None:
            times += [self._asked_ms + LONGEST_ALONE_MS, self._asked_ms + 2 * LONGEST_ALONE_MS]
        return min((time for time in times if time is not None and time > now_ms), default=None)

    # ---------------------------------------------------------------------------------------- turns

    def _others(self, member: GateMember) -> Iterator[GateMember]:
        return (each.member for each in self._entries if each.member is not member)

    def _resumes_ms(self, member: GateMember, now_ms: int) -> int | None:
        """Return the time until which the suspect of another handler has the process; None if none has."""
        if self._alone is None or self._alone is member:
            return None
        # A suspect may take long without being bad. After 30 seconds the others go on beside it, and risk a delivery.
        resumes_ms = self._alone_ms + LONGEST_ALONE_MS
        return resumes_ms if now_ms < resumes_ms else None

    def _is_reserved(self, now_ms: int) -> bool:
        """Return whether suspects may have the process now: for 30 s, and again 30 s later."""
        if not any(each.member.has_grave_suspects for each in self._entries):
            self._asked_ms = None
            return False
        # A handler that does not drain, such as one whose record takes an hour, must not stop the whole process. So the
        # others run for 30 seconds after each 30 seconds in which they were asked to wait.
        if self._asked_ms is None or now_ms - self._asked_ms >= 2 * LONGEST_ALONE_MS:
            self._asked_ms = now_ms
        return now_ms - self._asked_ms < LONGEST_ALONE_MS
