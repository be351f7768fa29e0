"""Waits that no signal can get lost in, because the main thread waits in short pieces.

Python only notes a signal when it comes, and runs its handler later, between two steps of the main thread. If a signal
comes after Python has looked for one and before the system call that blocks, nothing ends that call: without a limit
the handler would not run until a second signal. So every wait of the main thread ends after a moment, and begins again.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from kafka_groups.net.clock import SystemClock

__all__ = ["LONGEST_PIECE_S", "in_short_pieces", "joined", "result_of", "taken"]

T = TypeVar("T")

LONGEST_PIECE_S = 0.2
"""The longest time after which a signal is noticed that came at the wrong moment."""


def in_short_pieces(wait: Callable[[float | None], bool], timeout_s: float | None) -> bool:
    """Repeat a wait until it succeeds or the time is up. Threads other than the main one wait once.

    Args:
        wait: Waits for this many seconds at most; None has no limit. Returns True if it has succeeded.
        timeout_s: The time for all pieces together, in seconds; None has no limit.

    Returns:
        Whether the wait has succeeded.
    """
    if threading.current_thread() is not threading.main_thread():
        return wait(timeout_s)
    if timeout_s is not None and timeout_s <= LONGEST_PIECE_S:
        return wait(timeout_s)
    if timeout_s is None:
        while not wait(LONGEST_PIECE_S):
            pass
        return True
    clock = SystemClock()
    until_ms = clock.now_ms() + round(timeout_s * 1000)
    while not wait(min(LONGEST_PIECE_S, max(0, until_ms - clock.now_ms()) / 1000)):
        if clock.now_ms() >= until_ms:
            return False
    return True


def joined(thread: threading.Thread, timeout_s: float | None = None) -> bool:
    """Wait until a thread has ended. Return False if the time is up before."""

    def has_ended(piece_s: float | None) -> bool:
        thread.join(piece_s)
        return not thread.is_alive()

    return in_short_pieces(has_ended, timeout_s)


def result_of(future: "Future[T]", timeout_s: float | None = None) -> T:
    """Wait for the result of a future.

    Raises:
        TimeoutError: The time is up.
    """

    def is_done(piece_s: float | None) -> bool:
        try:
            future.exception(piece_s)
        except TimeoutError:
            return future.done()
        return True

    in_short_pieces(is_done, timeout_s)
    return future.result(0)


def taken(items: "queue.SimpleQueue[T]") -> T:
    """Wait for the next item of a queue, and take it."""
    found: list[T] = []

    def has_come(piece_s: float | None) -> bool:
        try:
            found.append(items.get(timeout=piece_s))
        except queue.Empty:
            return False
        return True

    in_short_pieces(has_come, None)
    return found[0]
