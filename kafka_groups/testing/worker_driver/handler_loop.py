"""The event loop of asynchronous handlers in a driver: it runs what is ready, and time moves only on request."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

from kafka_groups.testing.simulation.refusals import LOOP_REFUSALS

__all__ = ["HandlerLoop", "WorkerTestError"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_START_S = 1000.0  # not 0, which the rules take for no time
_RUNS_IN_THREADS = "run_in_executor"


class WorkerTestError(Exception):
    """A handler did something that does not exist in a `WorkerTestDriver`, or would never end there."""

    # Not a KafkaGroupsError: handlers catch those and go on.


class HandlerLoop(asyncio.BaseEventLoop):
    """An event loop without sockets and threads.

    Functions for threads, as `asyncio.to_thread` starts them, run in this thread, one after the other, when nothing
    else is ready.

    Attributes:
        refused: The errors of handlers that did what does not exist here, oldest first.
        next_timer_s: The time of the next timer, as of the last run; None without any.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[Exception] = []
        self.next_timer_s: float | None = None
        self._now_s = _START_S
        self._has_run = False
        self._blocking: list[Callable[[], None]] = []
        self._selector = self  # asyncio's loop asks its selector to wait
        self._clock_resolution = 1e-6  # a sum of virtual times may be off by less than that

    def time(self) -> float:
        """Virtual time in seconds."""
        return self._now_s

    def move_to(self, time_s: float) -> None:
        """Let time pass. Timers that are due run with the next `run_ready`."""
        self._now_s = max(self._now_s, time_s)

    def run_ready(self) -> bool:
        """Run until everything waits. Returns False if everything waited already."""
        self._has_run = False
        self.run_forever()
        while self._blocking:
            calls, self._blocking = self._blocking, []
            for call in calls:
                call()
            self.run_forever()
        return self._has_run

    def complete(self, steps: Coroutine[Any, Any, T], name: str) -> T:
        """Run a coroutine to its end; timers fire without waiting.

        Raises:
            WorkerTestError: It waits for something that never happens.
        """
        task = self.create_task(steps)
        self.run_ready()
        while not task.done() and self.next_timer_s is not None:
            self.move_to(self.next_timer_s)
            self.run_ready()
        if not task.done():
            task.cancel()
            self.run_ready()
            raise WorkerTestError(f"{name} waits for something that does not happen in a WorkerTestDriver")
        return task.result()

    def end(self) -> None:
        """Cancel all tasks, and close the loop."""
        for task in asyncio.all_tasks(self):
            task.cancel()
        self.run_ready()
        self.complete(self.shutdown_asyncgens(), "the end of a generator")
        self.close()

    # ------------------------------------------------------------------------------------- for asyncio

    def select(self, timeout: float | None) -> tuple[()]:
        """End the run if nothing is ready."""
        if timeout is not None and timeout <= self._clock_resolution:
            self._has_run = True
            return ()
        self.next_timer_s = None if timeout is None else self._now_s + timeout
        self.stop()
        return ()

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> "asyncio.Future[T]":
        """Call the function in this thread, when nothing is ready."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        self._blocking.append(lambda: _call_into(future, func, *args))
        return future

    def _process_events(self, events: tuple[()]) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: the loop never sleeps."""


def _call_into(future: "asyncio.Future[T]", function: Callable[[*Ts], T], *arguments: *Ts) -> None:
    if future.cancelled():
        return
    try:
        result = function(*arguments)
    except Exception as error:  # the task that awaits it gets it
        future.set_exception(error)
    else:
        future.set_result(result)


def _refusal(name: str) -> Callable[..., object]:
    def refused(self: HandlerLoop, *_arguments: object, **_keywords: object) -> object:
        error = WorkerTestError(
            f"a handler called loop.{name}: a WorkerTestDriver has no sockets, no processes and no signals. Give the"
            " handler an object in memory instead of the service that it talks to"
        )
        self.refused.append(error)
        raise error

    return refused


for _name in LOOP_REFUSALS.keys() - {_RUNS_IN_THREADS}:
    setattr(HandlerLoop, _name, _refusal(_name))
