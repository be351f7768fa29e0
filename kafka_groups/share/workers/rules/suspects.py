"""Suspects: records that were delivered before, one of which may have ended the process that ran it.

They run in portions. Nothing else starts while a portion runs, and each is acknowledged before the next starts. So a
record that ends the process takes no acknowledgement with it, and costs few others a delivery.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

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
    """

    def __init__(self, policy: DeliveryPolicy) -> None:
        self._policy = policy
        self._portions: deque[list[OpenRecord[R]]] = deque()
        self._portion: deque[OpenRecord[R]] = deque()
        self._since_ms: int | None = None

    def __len__(self) -> int:
        return len(self._portion) + sum(map(len, self._portions))

    def __iter__(self) -> Iterator[OpenRecord[R]]:
        yield from self._portion
        for portion in self._portions:
            yield from portion

    def add(self, suspects: Sequence[OpenRecord[R]]) -> None:
        """Add suspects that arrived together."""
        for rows in self._policy.portions([opened.delivery_count for opened in suspects]):
            self._portions.append([suspects[row] for row in rows])

    def is_alone(self, now_ms: int, *, is_quiet: bool) -> bool:
        """Return whether nothing but suspects may start now.

        Args:
            now_ms: The time.
            is_quiet: Whether nothing runs, and nothing waits for the broker's confirmation.
        """
        if is_quiet and not self._portion:
            self._since_ms = None
        if not self._portion and not self._portions and self._since_ms is None:
            return False
        if self._since_ms is None:
            self._since_ms = now_ms
        return now_ms - self._since_ms < LONGEST_ALONE_MS

    @property
    def others_resume_ms(self) -> int | None:
        """The time when others start again even if the portion still runs; None if no portion is due."""
        return None if self._since_ms is None else self._since_ms + LONGEST_ALONE_MS

    def take(self, *, is_quiet: bool) -> OpenRecord[R] | None:
        """Take the next suspect that may start; None if it has to wait until everything is quiet."""
        if not self._portion and self._portions and is_quiet:
            self._portion.extend(self._portions.popleft())
        return self._portion.popleft() if self._portion else None

    def take_any(self) -> OpenRecord[R] | None:
        """Take a suspect without waiting, for a probe."""
        if not self._portion and self._portions:
            self._portion.extend(self._portions.popleft())
        return self._portion.popleft() if self._portion else None

    def remove(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        """Remove the suspects that match, and return them."""
        removed = [opened for opened in self if matches(opened)]
        if removed:
            self._portion = deque(_others(self._portion, matches))
            self._portions = deque(rest for portion in self._portions if (rest := _others(portion, matches)))
        return removed


def _others(portion: Iterable[OpenRecord[R]], matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
    return [opened for opened in portion if not matches(opened)]
