"""Runs code of users off the event loop, so that a broker does not wait for it: in a thread, or in virtual time."""

import asyncio
import random
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

__all__ = ["RunAside", "in_thread", "in_virtual_time"]

T = TypeVar("T")

_LONGEST_VIRTUAL_MS = 100


class RunAside(Protocol):
    """Runs a function off the event loop."""

    def __call__(self, name: str, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """Run it.

        Args:
            name: What runs, for names of threads.
            work: The function.
            done: Takes its result or its error, in the event loop.
        """
        ...


def in_thread(name: str, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
    """Run a function in a thread of its own, which does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    threading.Thread(target=_run_in_thread, args=(loop, work, done), name=f"assignor-{name}", daemon=True).start()


def in_virtual_time(rng: random.Random, durations_ms: Mapping[str, int]) -> RunAside:
    """Return what runs functions in the event loop, some virtual milliseconds after they were asked for.

    Args:
        rng: Chooses how long they take.
        durations_ms: How long those of some names take.
    """

    def run(name: str, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        ms = durations_ms.get(name, rng.randint(0, _LONGEST_VIRTUAL_MS))
        asyncio.get_running_loop().call_later(ms / 1000, lambda: done(_outcome(work)))

    return run


def _run_in_thread(loop: asyncio.AbstractEventLoop, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
    outcome = _outcome(work)
    try:
        loop.call_soon_threadsafe(partial(done, outcome))
    except RuntimeError:
        if not loop.is_closed():
            raise
        # The broker has stopped, and nobody waits for the outcome.


def _outcome(work: Callable[[], T]) -> T | Exception:
    try:
        return work()
    except Exception as error:  # an assignor may raise anything; `finish` gets it on the loop
        return error
