"""Counts of dead letters by origin and error."""

import re
from typing import Final

from attrs import define, evolve, field, frozen

from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord

__all__ = ["DeadLetterCount", "DeadLetterCounts", "error_of"]

_ERROR_CLASS: Final = re.compile(r"(?P<name>(?:\w+\.)*[A-Z]\w*)(?::\s.*)?", re.DOTALL | re.ASCII)
"""The class of an exception, alone or before its text."""


def error_of(reason: str | None) -> str | None:
    """Return the class of the exception in a reason. A reason that does not begin with one stands for itself."""
    found = None if reason is None else _ERROR_CLASS.fullmatch(reason)
    return reason if found is None else found["name"]


@frozen
class DeadLetterCount:
    """The dead letters of one topic with one error.

    Attributes:
        origin_topic: The topic that they came from; None: their headers don't say it.
        error: The class of their exception, or else their reason. None: they have no reason.
        count: Their number.
        first_ms: The earliest of their timestamps.
        last_ms: The latest of their timestamps.
    """

    origin_topic: str | None
    error: str | None
    count: int
    first_ms: int
    last_ms: int


@define
class DeadLetterCounts:
    """Counts dead letters as they are read."""

    _counts: dict[tuple[str | None, str | None], DeadLetterCount] = field(factory=dict)

    def add(self, letter: DeadLetterRecord) -> None:
        """Count a dead letter."""
        origin, at_ms = letter.origin, letter.record.timestamp_ms
        key = (None if origin is None else origin.partition.topic, error_of(letter.reason))
        known = self._counts.get(key) or DeadLetterCount(*key, 0, at_ms, at_ms)
        self._counts[key] = evolve(
            known, count=known.count + 1, first_ms=min(known.first_ms, at_ms), last_ms=max(known.last_ms, at_ms)
        )

    def largest_first(self) -> list[DeadLetterCount]:
        """Return the counts, the largest first."""
        return sorted(self._counts.values(), key=lambda each: (-each.count, each.origin_topic or "", each.error or ""))
