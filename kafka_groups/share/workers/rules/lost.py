"""Records whose locks were lost while their handlers ran, and those that such handlers finished."""

from collections import OrderedDict
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.steps import OpenRecord
from kafka_groups.types import RecordId

__all__ = ["LostRecords"]

R = TypeVar("R")

# Older records are forgotten. They may then run a second time, which at-least-once delivery allows.
REMEMBERED = 10_000


class LostRecords(Generic[R]):
    """Keeps a process from running a record twice at once, and from repeating what it has finished.

    Its length is the number of records that run without a lock. Remembered ones matter for redeliveries only: a first
    delivery of such a record means that somebody has reset the offsets of the group.
    """

    def __init__(self) -> None:
        self._running: dict[RecordId, list[OpenRecord[R]]] = {}
        self._finished: OrderedDict[RecordId, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._running)

    def lost_while_running(self, place: RecordId) -> None:
        """Note that a handler still runs for a record whose lock was lost."""
        self._running.setdefault(place, [])

    def held_back(self) -> list[OpenRecord[R]]:
        """Return the redelivered records that wait for an earlier handler to end."""
        return [opened for waiting in self._running.values() for opened in waiting]

    def holds_back(self, opened: OpenRecord[R]) -> bool:
        """Return whether a redelivered record has to wait, because the handler of its earlier delivery still runs."""
        waiting = self._running.get(opened.place)
        # Any delivery of the offset has to wait, also one with a count of 1, which a broker that lost count may give
        # it.
        if waiting is None:
            return False
        waiting.append(opened)
        return True

    def ended(self, place: RecordId, *, has_succeeded: bool) -> list[OpenRecord[R]]:
        """Note that such a handler has ended. Returns the redelivered records that waited for it."""
        if has_succeeded:
            self.finished(place)
        return self._running.pop(place, [])

    def finished(self, place: RecordId) -> None:
        """Remember a record that was processed, but whose acceptance did not reach the broker."""
        self._finished[place] = None
        self._finished.move_to_end(place)
        while len(self._finished) > REMEMBERED:
            self._finished.popitem(last=False)

    def was_finished(self, place: RecordId) -> bool:
        """Return whether this process has processed a record already. Forgets it."""
        # `pop` returns the None that was stored; the default is anything else. Once its redelivery is accepted, a
        # record is forgotten: if the acceptance is refused again, `HandlingOutbox.settled` remembers it anew.
        return self._finished.pop(place, self) is None

    def drop(self, opened: OpenRecord[R]) -> bool:
        """Drop a redelivered record that waits, because its lock was lost as well. Returns whether it waited."""
        waiting = self._running.get(opened.place, [])
        if opened not in waiting:
            return False
        waiting.remove(opened)
        return True
