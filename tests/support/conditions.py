"""Waiting for what a test expects to come about."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kafka_groups.net.clock import SystemClock

T = TypeVar("T")

_PAUSE_S = 0.01


async def until(question: Callable[[], Awaitable[T]], expected: Callable[[T], bool], timeout_s: float = 15.0) -> T:
    """Ask until the answer is what is expected, and return that answer.

    Raises:
        AssertionError: The time is over; the message shows the last answer.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while True:
        answer = await question()
        if expected(answer):
            return answer
        assert loop.time() < deadline, f"after {timeout_s} s still {answer!r}"
        await asyncio.sleep(_PAUSE_S)


def wait_until(
    condition: Callable[[], object], timeout_s: float = 15.0, found: Callable[[], object] | None = None
) -> None:
    """Block until a condition holds, for tests without an event loop.

    Args:
        condition: It holds when this is true.
        timeout_s: The longest wait.
        found: What there is instead, for the message.

    Raises:
        AssertionError: The time is over.
    """
    clock, pause = SystemClock(), threading.Event()
    deadline_ms = clock.now_ms() + round(timeout_s * 1000)
    while not condition():
        assert clock.now_ms() < deadline_ms, f"not within {timeout_s} s" + (f": {found()!r}" if found else "")
        pause.wait(_PAUSE_S)
