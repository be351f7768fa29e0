"""Lives of simulated processes: nothing that one of them began runs after its end, as after `kill -9`.

A task that is cancelled runs its `finally` blocks, and would close its consumer in good order. The tasks, callbacks and
timers of a life that is over are left out instead: the event loop asks `LIFETIME`, which each of them inherits. Those
of a life that stands still wait until it resumes.
"""

import asyncio
import atexit
import contextlib
import gc
import logging
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextvars import Context, ContextVar
from typing import Any

__all__ = ["LIFETIME", "Lifetime", "LifetimeStep", "end_lifetimes"]

_MOST_AWAITS = 100  # that a coroutine may have in its `finally` blocks


class Lifetime:
    """A process from its start to its end.

    Attributes:
        is_over: Whether it has ended. Nothing that it began runs any more.
        is_stalled: Whether it stands still. What it began runs later.
    """

    def __init__(self) -> None:
        self.is_over = self.is_stalled = False
        self._deferred: list[asyncio.Handle] = []
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._endings: list[Callable[[], object]] = []

    def has_begun(self, task: "asyncio.Task[Any]") -> None:
        """Note a task that this life created."""
        self._tasks.add(task)

    def at_end(self, action: Callable[[], object]) -> None:
        """Do something when this life ends, which the outside of the process notices."""
        self._endings.append(action)

    def stall(self) -> None:
        """Stand still until `go_on`. What arrives until then waits, as in the buffers of a kernel."""
        self.is_stalled = True

    def defer(self, handle: asyncio.Handle) -> None:
        """Note a callback that is due while the life stands still."""
        self._deferred.append(handle)

    def go_on(self) -> None:
        """Go on after `stall`: what is due runs in the order in which it became due."""
        self.is_stalled = False
        deferred, self._deferred = self._deferred, []
        loop = asyncio.get_running_loop()
        for handle in deferred:
            loop.call_soon(_run, handle, context=_NOBODY)

    def end(self) -> None:
        """End at once: its tasks stay where they are."""
        if not self.is_over:
            self.is_over = True
            _graves.append([task for task in self._tasks if not task.done()])
            for task in _graves[-1]:
                asyncio.tasks._unregister_task(task)
            for action in self._endings:
                action()


LIFETIME: ContextVar[Lifetime | None] = ContextVar("LIFETIME", default=None)
"""The life to which the code that runs belongs; None outside of simulated processes."""

_NOBODY = Context()
"""A context without a life."""

_graves: list[list["asyncio.Task[Any]"]] = []


class LifetimeStep:
    """A callback of the event loop, which belongs to the life that asked for it.

    Args:
        callback: The function.
        arguments: Its arguments.

    Attributes:
        handle: The loop's handle of this step.
    """

    __slots__ = ("_arguments", "_callback", "handle")

    handle: asyncio.Handle

    def __init__(self, callback: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._callback = callback
        self._arguments = arguments

    def __repr__(self) -> str:
        return f"<LifetimeStep {self._callback!r}>"

    def __call__(self) -> None:
        """Call the function: not if its life is over, and later if that stands still."""
        lifetime = LIFETIME.get()
        if lifetime is None or not (lifetime.is_over or lifetime.is_stalled):
            self._callback(*self._arguments)
        elif not lifetime.is_over:
            lifetime.defer(self.handle)


def _run(handle: asyncio.Handle) -> None:
    if not handle.cancelled():  # by a step before it, as after a pause of a real process
        handle._run()


def end_lifetimes() -> None:
    """Let go of all tasks of lives that are over.

    Python runs the `finally` blocks of a coroutine that it lets go of. This must not happen before the results of the
    run were checked, so it happens before the next run, and when Python ends.
    """
    if _graves:
        # In the main thread, asyncio would make an event loop for a block that calls `gather`, and nobody closes it.
        thread = threading.Thread(target=_let_go, name="simulation-burial")
        thread.start()
        thread.join()


@atexit.register  # not `end_lifetimes`: threads can no longer start then
def _let_go() -> None:
    with _unheard():
        while _graves:
            for task in _graves.pop():
                task._log_destroy_pending = False  # type: ignore[attr-defined] # as asyncio does itself
                _close(task.get_coro())
        gc.collect()


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Drop what `finally` blocks log and warn of: their process ended before, perhaps in another test."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of consumers that were not closed
            yield
    finally:
        logging.disable(disabled)


def _close(coroutine: Any) -> None:
    for _ in range(_MOST_AWAITS):
        with contextlib.suppress(BaseException):  # whatever the application raises now, nobody hears it
            coroutine.close()
            return
