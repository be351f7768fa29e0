"""Functions that a task calls again and again, by stream time or by wall-clock time."""

from collections.abc import Callable

__all__ = ["Punctuation", "Schedule"]


class Punctuation:
    """One scheduled function."""

    def __init__(self, interval_ms: int, callback: Callable[[int], None], next_ms: int) -> None:
        self.interval_ms = interval_ms
        self.callback = callback
        self.next_ms = next_ms
        self.is_cancelled = False

    def cancel(self) -> None:
        """Call the function no more."""
        self.is_cancelled = True


class Schedule:
    """The punctuations of one clock.

    Attributes:
        waiting: What was scheduled and not cancelled.
    """

    def __init__(self) -> None:
        self.waiting: list[Punctuation] = []

    def add(self, interval_ms: int, callback: Callable[[int], None], first_ms: int) -> Punctuation:
        """Schedule a function: at `first_ms`, and at multiples of the interval after it."""
        punctuation = Punctuation(interval_ms, callback, first_ms)
        self.waiting.append(punctuation)
        return punctuation

    def run(self, now_ms: int) -> bool:
        """Call what is due, each function once. Return whether any was called."""
        due = [each for each in self.waiting if each.next_ms <= now_ms]
        for each in due:
            if not each.is_cancelled:
                _advance(each, now_ms)
                each.callback(now_ms)
        self.waiting = [each for each in self.waiting if not each.is_cancelled]
        return bool(due)


def _advance(each: Punctuation, now_ms: int) -> None:
    missed = (now_ms - each.next_ms) // each.interval_ms
    each.next_ms += (missed + 1) * each.interval_ms
