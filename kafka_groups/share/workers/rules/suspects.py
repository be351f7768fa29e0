"""Suspects: records that were delivered before, one of which may have ended the process that ran it.

They run in portions. Nothing else starts while a portion runs, and each is acknowledged before the next starts. So a
record that ends the process takes no acknowledgement with it, and costs few others a delivery. Those that are known to
have been running when a process was killed run after all others, each in a portion of its own.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.named_suspects import NamedSuspects, RunningRange
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.steps import OpenRecord

__all__ = ["LONGEST_ALONE_MS", "SuspectRecords"]

R = TypeVar("R")

LONGEST_ALONE_MS = 30_000
"""A portion that takes longer no longer stops others."""


class SuspectRecords(Generic[R]):
    """The portions of suspects, and the one that runs.

    Args:
        policy: Cuts the portions by delivery count.

    Attributes:
        named: The records that were running when a process was killed.
    """

    def __init__(self, policy: DeliveryPolicy) -> None:
        self._policy = policy
        self.named = NamedSuspects()
        self._named_portions: deque[list[OpenRecord[R]]] = deque()
        self._portions: deque[list[OpenRecord[R]]] = deque()
        self._portion: deque[OpenRecord[R]] = deque()
        self._since_ms: int | None = None
        self._is_shared = False
        self._has_begun = False

    def __len__(self) -> int:
        return len(self._portion) + sum(map(len, self._portions)) + len(self._named_portions)

    def __iter__(self) -> Iterator[OpenRecord[R]]:
        yield from self._portion
        for portion in chain(self._portions, self._named_portions):
            yield from portion

    def add(self, suspects: Sequence[OpenRecord[R]]) -> None:
        """Add suspects that arrived together."""
        others = [opened for opened in suspects if opened.place not in self.named] if self.named else suspects
        for rows in self._policy.portions([opened.delivery_count for opened in others]):
            self._portions.append([others[row] for row in rows])
        if len(others) < len(suspects):
            self._add_named([opened for opened in suspects if opened.place in self.named])

    def _add_named(self, suspects: Sequence[OpenRecord[R]]) -> None:
        """Add suspects that run alone, in the order of the policy: else those behind a bad record would never run."""
        is_backwards = self._policy.is_backwards([opened.delivery_count for opened in suspects])
        self._named_portions.extend([opened] for opened in (reversed(suspects) if is_backwards else suspects))

    def put_back(self, suspects: Iterable[OpenRecord[R]]) -> None:
        """Put back what no slot has started. The rest of the portion waits again until everything is quiet."""
        self._portions.appendleft([*suspects, *self._portion])
        self._portion.clear()

    def run_last_deliveries_first(self) -> None:
        """Change the order of the portions: the highest delivery counts go first, because little time is left."""
        self._portions = deque(sorted(self._portions, key=_highest_count, reverse=True))

    def name(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what was running when a process was killed. Such records that are here already will run alone."""
        self.named.add(ranges)
        self._add_named(self.remove(lambda opened: opened.place in self.named))

    def is_alone(self, now_ms: int, *, is_quiet: bool) -> bool:
        """Return whether nothing but suspects may start now.

        Args:
            now_ms: The time.
            is_quiet: Whether nothing runs, and nothing waits for the broker's confirmation.
        """
        if is_quiet and not self._portion:
            self._since_ms, self._is_shared, self._has_begun = None, False, False
        if not self._portion and not self._has_portions and self._since_ms is None:
            return False
        if self._since_ms is None:
            self._since_ms = now_ms
        return not self._is_shared and now_ms - self._since_ms < LONGEST_ALONE_MS

    def begin_anew(self, now_ms: int) -> None:
        """Have the portion wait again until everything is quiet: an open breaker stops all, and lets probes through.

        Others still wait for a suspect that has begun, for as long as if it began now.
        """
        self._since_ms, self._is_shared = now_ms if self._has_begun else None, False
        if self._portion:
            self._portions.appendleft(list(self._portion))
            self._portion.clear()

    @property
    def others_resume_ms(self) -> int | None:
        """The time when others start again even if the portion still runs; None if no portion is due."""
        return None if self._since_ms is None else self._since_ms + LONGEST_ALONE_MS

    def take(self, now_ms: int, *, is_quiet: bool) -> OpenRecord[R] | None:
        """Take the next suspect that may start; None if it has to wait until everything is quiet.

        A portion that has waited for 30 s starts alongside other records. With slow handlers, it might otherwise never
        start.
        """
        if not self._portion and self._has_portions and (is_quiet or self._is_overdue(now_ms)):
            self._portion.extend(self._next_portion())
        self._has_begun |= bool(self._portion)
        return self._portion.popleft() if self._portion else None

    def _is_overdue(self, now_ms: int) -> bool:
        if self._since_ms is None or now_ms - self._since_ms < LONGEST_ALONE_MS:
            return False
        self._since_ms, self._is_shared = now_ms, True
        return True

    def take_any(self) -> OpenRecord[R] | None:
        """Take a suspect without waiting, for a probe. The rest of its portion has not begun."""
        portions = self._portions or self._named_portions
        if not portions:
            return None
        taken, *rest = portions.popleft()
        if rest:
            portions.appendleft(rest)
        return taken

    @property
    def _has_portions(self) -> bool:
        return bool(self._portions or self._named_portions)

    def _next_portion(self) -> list[OpenRecord[R]]:
        return (self._portions or self._named_portions).popleft()

    def remove(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        """Remove the suspects that match, and return them."""
        removed = [opened for opened in self if matches(opened)]
        if removed:
            self._portion = deque(_others(self._portion, matches))
            self._portions = _portions_left(self._portions, matches)
            self._named_portions = _portions_left(self._named_portions, matches)
        if not self and not self._has_begun:  # so that the next one does not inherit their wait
            self._since_ms, self._is_shared = None, False
        return removed


def _highest_count(portion: Iterable[OpenRecord[R]]) -> int:
    return max(opened.delivery_count for opened in portion)


def _others(portion: Iterable[OpenRecord[R]], matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
    return [opened for opened in portion if not matches(opened)]


def _portions_left(
    portions: Iterable[Sequence[OpenRecord[R]]], matches: Callable[[OpenRecord[R]], bool]
) -> deque[list[OpenRecord[R]]]:
    return deque(rest for portion in portions if (rest := _others(portion, matches)))
