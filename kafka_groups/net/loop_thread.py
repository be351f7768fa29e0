"""An event loop on its own thread, for blocking facades over asynchronous engines."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

from kafka_groups.errors import ClosedError, IllegalStateError
from kafka_groups.net.short_waits import joined
from kafka_groups.net.wake_up import WakeUp

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
        self._running: _RunningLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def __repr__(self) -> str:
        state = "forked" if self._pid != os.getpid() else "running" if self.is_running else "not running"
        return f"<LoopThread {self._name}: {state}>"

    @property
    def is_running(self) -> bool:
        """True if the thread was started in this process and not stopped."""
        return self._running is not None and not self._running.is_stopping and self._pid == os.getpid()

    def start(self) -> None:
        """Start the thread. Blocks for a fraction of a millisecond, until its loop runs.

        Raises:
            IllegalStateError: The thread is already running.
        """
        if self.is_running:
            raise IllegalStateError(f"{self!r} is already started.")
        self._pid = os.getpid()
        running = _RunningLoop()
        self._thread = threading.Thread(target=running.run, name=self._name, daemon=True)
        try:
            self._thread.start()
            running.wait()
            self._running = running
        except BaseException:  # Ctrl-C: nobody would ever stop it
            running.stop()
            raise

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine on the loop, wait for it and return its result.

        If the wait ends early (timeout, Ctrl-C), the coroutine is cancelled.

        Raises:
            TimeoutError: The coroutine took longer than `timeout_s` seconds.
            ClosedError: The loop is not running, or another thread stopped it during the call.
            IllegalStateError: Called on the loop's own thread, or in a process forked from the one that started it.
        """
        try:
            loop = self._usable_loop()
        except IllegalStateError:
            coroutine.close()
            raise
        call = _Call(coroutine)
        loop.call_soon_threadsafe(call.begin)
        try:
            return call.result(timeout_s)
        except asyncio.CancelledError:
            raise ClosedError(f"{self!r} was stopped during the call.") from None
        finally:
            if not call.has_ended:
                loop.call_soon_threadsafe(call.cancel)

    def call_soon(self, callback: Callable[..., object], *args: Any) -> None:
        """Call a function on the loop's next turn, without waiting for it.

        Raises:
            ClosedError: The loop is not running.
            IllegalStateError: This process was forked from the one that started it.
        """
        self._usable_loop(on_own_thread=True).call_soon_threadsafe(callback, *args)

    def stop(self, last: Coroutine[Any, Any, object] | None = None) -> None:
        """Cancel all tasks, end the thread and close the loop. Does nothing if the loop is not running.

        In a forked child, the loop is only dropped, because its selector belongs to the parent.

        Args:
            last: A coroutine to run before the tasks are cancelled. It is for objects that are being garbage collected:
                they cannot call `run`, because the collection may happen on the loop's own thread.
        """
        if self._running is None or self._pid != os.getpid():
            if last is not None:
                last.close()
            return
        self._running.stop(last)  # again, if it was stopped before: Ctrl-C may have cut that short
        if self._thread is not None and self._thread is not threading.current_thread():
            joined(self._thread)

    def _usable_loop(self, *, on_own_thread: bool = False) -> asyncio.AbstractEventLoop:
        if self._pid != os.getpid():
            raise IllegalStateError(
                f"This object was created in process {self._pid} and cannot be used in its forked child {os.getpid()}:"
                " threads and connections do not survive a fork. Create a new object in the child."
            )
        if self._running is None or self._running.is_stopping:
            raise ClosedError(f"{self!r}")
        if not on_own_thread and threading.current_thread() is self._thread:
            raise IllegalStateError("A blocking call on the event loop's own thread would deadlock.")
        return self._running.loop


class _Call(Generic[T]):
    """A coroutine that runs on the loop, for a thread that waits for it.

    Not `asyncio.run_coroutine_threadsafe`: its future has a lock that Ctrl-C can leave locked (see `WakeUp`).
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._task: asyncio.Task[T] | None = None
        self._ended = WakeUp()

    @property
    def has_ended(self) -> bool:
        return self._task is not None and self._task.done()

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._coroutine)
        self._task.add_done_callback(lambda _task: self._ended.set())

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def result(self, timeout_s: float | None) -> T:
        if not self._ended.wait(timeout_s) or self._task is None:
            raise TimeoutError(f"no result within {timeout_s} s")
        return self._task.result()


class _RunningLoop:
    """A loop that its own thread makes, runs and closes, so that a start cut short leaves none behind."""

    def __init__(self) -> None:
        self._last: list[Coroutine[Any, Any, object]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = WakeUp()
        self._serves = True
        self.is_stopping = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, which there is after `wait`."""
        if self._loop is None:
            raise IllegalStateError("The loop's thread has not begun.")
        return self._loop

    def wait(self) -> None:
        """Wait until the loop runs."""
        while self._loop is None or not self._loop.is_running():
            self._begun.wait()

    def stop(self, last: Coroutine[Any, Any, object] | None = None) -> None:
        """Have it run a last coroutine and end, also if it is only about to begin."""
        if last is not None:
            if self.is_stopping:
                last.close()
            else:
                self._last.append(last)
        self.is_stopping = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed already
                self._loop.call_soon_threadsafe(self._end)

    def run(self) -> None:
        """Run the event loop until the thread is stopped."""
        self._loop = loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.call_soon(self._begun.set)
        try:
            if not self.is_stopping:
                loop.run_forever()
            self._serves = False
            for coroutine in self._last:
                loop.run_until_complete(coroutine)
            loop.run_until_complete(_end_all_tasks())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    def _end(self) -> None:
        if self._serves:  # a second stop must not disturb what the first one began
            self.loop.stop()


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
