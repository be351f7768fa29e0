"""Functions that a task calls again and again, by stream time or by wall-clock time."""

from collections.abc import Callable

from kafka_groups.assignment.java_queue import JavaQueue

__all__ = ["Punctuation", "Schedule", "next_time"]


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
        is_used: True once there has been one.
    """

    def __init__(self) -> None:
        self.is_used = False
        # What is due together is called in the order of Java's queue, in which equal times have an order, too.
        self._waiting: JavaQueue[Punctuation] = JavaQueue(lambda each: each.next_ms)

    def __bool__(self) -> bool:
        """Return False if there is nothing to call, now or later."""
        return bool(self._waiting)

    def add(self, interval_ms: int, callback: Callable[[int], None], first_ms: int) -> Punctuation:
        """Schedule a function: at `first_ms`, and at multiples of the interval after it."""
        self.is_used = True
        punctuation = Punctuation(interval_ms, callback, first_ms)
        self._waiting.offer(punctuation)
        return punctuation

    def run(self, now_ms: int) -> bool:
        """Call what is due, longest due first and each function once. Return whether any was called.

        What the functions schedule is called, too, if it is due (Java's `PunctuationQueue.maybePunctuate`).
        """
        is_any = False
        while self._waiting and self._waiting.first.next_ms <= now_ms:
            each = self._waiting.poll()
            # A function that was cancelled while it waited is dropped here, as in PunctuationQueue.maybePunctuate.
            if not each.is_cancelled:
                is_any = True
                each.callback(now_ms)
            # A function may cancel itself in its call; then it does not come back.
            if not each.is_cancelled:
                # Times that passed during a gap are not made up for, one call each: the next one is the first that lies
                # ahead (PunctuationSchedule.next in Kafka).
                each.next_ms = next_time(each.next_ms, each.interval_ms, now_ms)
                self._waiting.offer(each)
        return is_any


def next_time(first_ms: int, interval_ms: int, now_ms: int) -> int:
    """Return the first time after `now_ms` that is a multiple of the interval after a time that is over."""
    return first_ms + ((now_ms - first_ms) // interval_ms + 1) * interval_ms
