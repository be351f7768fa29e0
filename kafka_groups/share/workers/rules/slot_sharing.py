"""Share the slots of one handler between its own topics and its retry topics.

Records from retry topics have waited already, so they run first. But they get half of the slots at most while records
of the handler's own topics wait as well: neither kind keeps the other from running.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Protocol

from attrs import define

from kafka_groups.share.workers.rules.handler_rate import HandlerRate

__all__ = ["SharedSlots", "SlotUser"]


class SlotUser(Protocol):
    """The records of some topics of a handler, as those of its other topics see them."""

    @property
    def running(self) -> int:
        """The number of its runs under way."""
        ...

    @property
    def is_probing(self) -> bool:
        """True while a probe runs, as the breaker is open."""
        ...

    def runnable(self, now_ms: int) -> int:
        """Return how many runs it could start if there were slots; 0 if something else keeps it from running."""
        ...


@define(eq=False)
class _SlotEntry:
    user: SlotUser
    is_retry: bool
    wake: Callable[[], None] | None = None
    claim: int | None = None
    told: object = None


class SharedSlots:
    """Decides who may start the next run of a handler.

    Args:
        concurrency: The number of slots.
        rate: How many attempts may start; None without a rate limit.

    Attributes:
        rate: The same. The users share it, too.
    """

    def __init__(self, concurrency: int, rate: HandlerRate | None = None) -> None:
        self._concurrency = concurrency
        self.rate = rate
        self._entries: list[_SlotEntry] = []
        self._claims = count()
        self._was_retry = False

    def enter(self, user: SlotUser, *, is_retry: bool) -> None:
        """Add a user of the slots.

        Args:
            user: The user.
            is_retry: Whether its records come from a retry topic.
        """
        self._entries.append(_SlotEntry(user, is_retry))

    def leave(self, user: SlotUser) -> None:
        """Remove a user that has ended."""
        self._entries = [each for each in self._entries if each.user is not user]
        self._wake_refused()

    def wake_by(self, user: SlotUser, wake: Callable[[], None]) -> None:
        """Have a function called when a user may start a run that it was refused before."""
        self._entry(user).wake = wake

    def _entry(self, user: SlotUser) -> _SlotEntry:
        return next(each for each in self._entries if each.user is user)

    # ---------------------------------------------------------------------------------------- whose turn it is

    def may_start(self, user: SlotUser, most: int, now_ms: int) -> bool:
        """Return whether a user may start a run.

        Args:
            user: The user.
            most: The most runs of all users at a time.
            now_ms: The time.
        """
        # Most handlers have no retry topics, and sharing costs them nothing.
        if len(self._entries) == 1:
            return user.running < most
        entry = self._entry(user)
        if self._has_room(entry, most, now_ms):
            entry.claim = None
            return True
        # Who was refused first goes first: otherwise the user whose run has just ended would always take its slot
        # again.
        if entry.claim is None and user.runnable(now_ms):
            entry.claim = next(self._claims)
        return False

    def _has_room(self, entry: _SlotEntry, most: int, now_ms: int) -> bool:
        ahead = sum(1 for other in self._ahead_of(entry) if other.user.runnable(now_ms))
        free = most - sum(each.user.running for each in self._entries) - ahead
        if free <= 0:
            return False
        if not entry.is_retry:
            return free > self._reserved(now_ms)
        return self._retry_room > ahead or not self._has_runnable_main(now_ms)

    def _ahead_of(self, entry: _SlotEntry) -> Iterator[_SlotEntry]:
        """Yield the users of the same kind that were refused before this one."""
        for other in self._entries:
            if other is entry or other.is_retry is not entry.is_retry or other.claim is None:
                continue
            if entry.claim is None or other.claim < entry.claim:
                yield other

    @property
    def _retry_room(self) -> int:
        """The number of retry runs that may still start while the handler's own topics have records, too."""
        # A single slot has no half, so the two kinds take turns.
        half = self._concurrency // 2 or int(not self._was_retry)
        return half - sum(each.user.running for each in self._entries if each.is_retry)

    def _reserved(self, now_ms: int) -> int:
        """Return how many slots the handler's own topics leave to records from retry topics, which go first."""
        room = self._retry_room
        if room <= 0:
            return 0
        return min(room, sum(each.user.runnable(now_ms) for each in self._entries if each.is_retry))

    def _has_runnable_main(self, now_ms: int) -> bool:
        return any(each.user.runnable(now_ms) for each in self._entries if not each.is_retry)

    @property
    def is_probing(self) -> bool:
        """True while a probe of any user runs. All have one sink, so one probe tells about it."""
        return any(each.user.is_probing for each in self._entries)

    def started(self, user: SlotUser) -> None:
        """Note that a user has started a run."""
        if len(self._entries) > 1:
            self._was_retry = self._entry(user).is_retry

    # ---------------------------------------------------------------------------------------- waking each other

    def tell(self, user: SlotUser, now_ms: int) -> None:
        """Wake users that were refused if this one has changed what they wait for."""
        if len(self._entries) == 1:
            return
        entry = self._entry(user)
        state = user.running, user.runnable(now_ms) > 0
        if entry.told != state:
            entry.told = state
            self._wake_refused(but=entry)

    def _wake_refused(self, but: _SlotEntry | None = None) -> None:
        for each in self._entries:
            if each is not but and each.claim is not None and each.wake is not None:
                each.wake()
