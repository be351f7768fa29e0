"""An event loop on its own thread, for blocking facades over asynchronous engines."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafka_groups.errors import ClosedError, IllegalStateError

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for threads that have no event loop.

    The thread is a daemon, so a program that forgets to stop it can still exit. After `os.fork`, the child has no such
    thread: calls in the child raise an error instead of waiting forever.

    Args:
        name: Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._last: list[Coroutine[Any, Any, object] | None] = []
        self._pid = os.getpid()

    def __repr__(self) -> str:
        state = "forked" if self._pid != os.getpid() else "running" if self.is_running else "not running"
        return f"<LoopThread {self._name}: {state}>"

    @property
    def is_running(self) -> bool:
        """Whether the thread was started in this process and not stopped."""
        return self._loop is not None and self._pid == os.getpid()

    def start(self) -> None:
        """Start the thread. Blocks for a fraction of a millisecond, until its loop runs.

        Raises:
            IllegalStateError: The thread is already running.
        """
        if self._loop is not None:
            raise IllegalStateError(f"{self!r} is already started.")
        self._pid = os.getpid()
        loop = asyncio.new_event_loop()
        running = threading.Event()
        loop.call_soon(running.set)
        self._thread = threading.Thread(target=_run_loop, args=(loop, self._last), name=self._name, daemon=True)
        self._thread.start()
        running.wait()
        self._loop = loop

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine on the loop, wait for it and return its result.

        If the wait ends early (timeout, Ctrl-C), the coroutine is cancelled.

        Raises:
            TimeoutError: The coroutine took longer than `timeout_s` seconds.
            ClosedError: The loop is not running.
            IllegalStateError: Called on the loop's own thread, or in a process forked from the one that started it.
        """
        try:
            loop = self._usable_loop()
        except IllegalStateError:
            coroutine.close()
            raise
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result(timeout_s)
        finally:
            future.cancel()  # does nothing if there is a result

    def call_soon(self, callback: Callable[..., object], *args: Any) -> None:
        """Call a function on the loop's next turn, without waiting for it.

        Raises:
            ClosedError: The loop is not running.
            IllegalStateError: This process was forked from the one that started it.
        """
        self._usable_loop(on_own_thread=True).call_soon_threadsafe(callback, *args)

    def check_usable(self) -> None:
        """Raise the error that `call_soon` would raise, if any.

        Raises:
            ClosedError: The loop is not running.
            IllegalStateError: This process was forked from the one that started it.
        """
        self._usable_loop(on_own_thread=True)

    def stop(self, last: Coroutine[Any, Any, object] | None = None) -> None:
        """Cancel all tasks, end the thread and close the loop. Does nothing if the loop is not running.

        In a forked child, the loop is only dropped, because its selector belongs to the parent.

        Args:
            last: A coroutine to run before the tasks are cancelled. It is for objects that are being garbage collected:
                they cannot call `run`, because the collection may happen on the loop's own thread.
        """
        loop, self._loop = self._loop, None
        if loop is None or self._pid != os.getpid():
            if last is not None:
                last.close()
            return
        self._last.append(last)
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _usable_loop(self, *, on_own_thread: bool = False) -> asyncio.AbstractEventLoop:
        if self._pid != os.getpid():
            raise IllegalStateError(
                f"This object was created in process {self._pid} and cannot be used in its forked child {os.getpid()}:"
                " threads and connections do not survive a fork. Create a new object in the child."
            )
        if self._loop is None:
            raise ClosedError(f"{self!r}")
        if not on_own_thread and threading.current_thread() is self._thread:
            raise IllegalStateError("A blocking call on the event loop's own thread would deadlock.")
        return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop, last: list[Coroutine[Any, Any, object] | None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for coroutine in filter(None, last):
            loop.run_until_complete(coroutine)
        loop.run_until_complete(_end_all_tasks())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _end_all_tasks() -> None:
    loop = asyncio.get_running_loop()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            loop.call_exception_handler(
                {"message": "A task failed while its loop was being stopped", "exception": outcome}
            )
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
