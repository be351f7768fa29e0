"""Threads for a worker's own waits, and threads of `asyncio.to_thread` that its end does not wait for."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from kafka_groups.net.clock import SystemClock

__all__ = ["HandlerExecutor", "in_own_thread"]

_LOG = logging.getLogger("kafka_groups.worker")

_TIME_TO_END_MS = 2_000
"""The threads of handlers have this long to end after their loop has ended."""


async def in_own_thread(function: Callable[[], None]) -> None:
    """Run a function that blocks in a thread of its own, and wait for it.

    Not `asyncio.to_thread`: its few threads may all be blocked by handlers that use it.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    threading.Thread(target=_run, args=(function, ended, loop), name="worker-waits", daemon=True).start()
    await ended


def _run(function: Callable[[], None], ended: "asyncio.Future[None]", loop: asyncio.AbstractEventLoop) -> None:
    error: BaseException | None = None
    try:
        function()
    except BaseException as raised:  # the one who waits gets it
        error = raised
    with suppress(RuntimeError):  # the loop has been closed, so nobody waits
        loop.call_soon_threadsafe(partial(_end, ended, error))


def _end(ended: "asyncio.Future[None]", error: BaseException | None) -> None:
    if ended.done():  # cancelled
        return
    if error is None:
        ended.set_result(None)
    else:
        ended.set_exception(error)


class HandlerExecutor(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread` on a worker's own loop, whose end does not wait for those that block."""

    def __init__(self) -> None:
        self._begun: list[threading.Thread] = []
        super().__init__(thread_name_prefix="worker-to-thread", initializer=self._note)

    def _note(self) -> None:
        self._begun.append(threading.current_thread())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as its base
        """Take no more calls, and wait for those under way, for a while."""
        # The base class waits for every call that is under way, even for one that blocks for ever. Here the end waits
        # for two seconds, and the log says if calls still run.
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        clock = SystemClock()
        end_ms = clock.now_ms() + _TIME_TO_END_MS
        for thread in self._begun if wait else ():
            thread.join(max(0, end_ms - clock.now_ms()) / 1000)
        if wait and any(thread.is_alive() for thread in self._begun):
            _LOG.warning("The worker ends while calls of asyncio.to_thread by its handlers still run")
