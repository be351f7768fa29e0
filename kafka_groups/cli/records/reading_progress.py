"""The time since the last record, and the number of records that are still wanted."""

from typing import Final

from kafka_groups.cli.records.reading_options import ReadingOptions
from kafka_groups.errors.texts import counted
from kafka_groups.net.clock import Clock

__all__ = ["ReadingProgress"]

_STEP_MS: Final = 500
"""The longest wait before a look at whether somebody still reads standard output."""


class ReadingProgress:
    """Knows when a command that prints records has printed enough, or has waited long enough.

    Args:
        options: The options of the command.
        clock: Tells the time.

    Attributes:
        count: The number of records that were printed.
    """

    def __init__(self, options: ReadingOptions, clock: Clock) -> None:
        self._most = options.most
        self._timeout_ms = None if options.timeout_s is None else round(options.timeout_s * 1_000)
        self._timeout_s = options.timeout_s
        self._clock = clock
        self._last_ms = clock.now_ms()
        self.count = 0

    def __repr__(self) -> str:
        return f"<ReadingProgress: {self.count} of {self._most}>"

    @property
    def left(self) -> int | None:
        """The number of records that are still wanted; None for any number."""
        return None if self._most is None else self._most - self.count

    @property
    def is_over(self) -> bool:
        """True if there are enough records, or none has come for the longest time."""
        return self.left == 0 or self._left_ms == 0

    @property
    def wait_ms(self) -> int:
        """The longest wait for a record before the next look."""
        left_ms = self._left_ms
        return _STEP_MS if left_ms is None else min(left_ms, _STEP_MS)

    @property
    def _left_ms(self) -> int | None:
        if self._timeout_ms is None:
            return None
        return max(self._last_ms + self._timeout_ms - self._clock.now_ms(), 0)

    def note(self, count: int) -> None:
        """Note records that were printed."""
        self.count += count
        self._last_ms = self._clock.now_ms()

    @property
    def shortage(self) -> str | None:
        """The text about records that have not come; None if enough have."""
        if self._most is None or self._timeout_s is None or self.count >= self._most:
            return None
        return f"{self.count} of {counted(self._most, 'record')} after {self._timeout_s:g} s"
