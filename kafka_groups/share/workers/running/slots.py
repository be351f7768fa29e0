"""Slots: threads for ordinary handlers, tasks for asynchronous ones. Results go to a mailbox on the driver's loop."""

import asyncio
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType
from typing import Protocol

from kafka_groups.errors.texts import joined
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.processes.notes import HandlerNotes
from kafka_groups.share.workers.rules.steps import InvokeHandler
from kafka_groups.share.workers.running.handler_calls import HandlerCalls
from kafka_groups.share.workers.running.left_tasks import leave_task
from kafka_groups.share.workers.running.results import RunResult

__all__ = ["AnyRun", "HandlerSlots", "Mailbox", "TaskSlots", "ThreadSlots"]

AnyRun = InvokeHandler[AnyRecord]


class Mailbox:
    """Results from other threads. The driver's loop is woken once, however many arrive before it looks.

    Args:
        loop: The driver's loop.
        wake: Wakes the driver, on its loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._loop = loop
        self._wake = wake
        self._results: deque[RunResult | Exception] = deque()
        self._is_told = False

    def put(self, result: RunResult | Exception) -> None:
        """Add a result, or the error of a slot, which is a mistake of this package. Any thread may call this."""
        self._results.append(result)
        # Waking a loop from another thread costs a system call, and a fast handler would make one for each run. Two
        # threads may both see False here: the driver is then woken twice, which does no harm.
        if not self._is_told:
            self._is_told = True
            with suppress(RuntimeError):  # the worker has stopped, and its loop is closed
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        # This comes before the driver looks, so that a result that arrives while it does wakes it again.
        self._is_told = False
        self._wake()

    def take(self) -> RunResult | None:
        """Take a result; None without any. The error of a slot is raised, so that the worker stops and logs it."""
        result = self._results.popleft() if self._results else None
        if isinstance(result, Exception):
            raise result
        return result


class HandlerSlots(Protocol):
    """Runs the records of one handler, whose topics share its slots."""

    def use(self) -> None:
        """Count a user, which calls `close` once."""
        ...

    def submit(self, run: AnyRun, mailbox: Mailbox) -> None:
        """Start a run, whose result goes to a mailbox. There are never more than the handler's concurrency."""
        ...

    def cancel(self, run: AnyRun, reason: Exception) -> bool:
        """Cancel the attempt under way. Returns False if it cannot be cancelled."""
        ...

    def leave(self, run: AnyRun) -> None:
        """Let nobody wait for a run that cannot be stopped: the worker ends without it."""
        ...

    def stack_of(self, run: AnyRun) -> str:
        """Return where a run is, for the log."""
        ...

    def close(self) -> None:
        """After the last user: start nothing more, and let go of idle slots."""
        ...


class ThreadSlots:
    """Threads, started as they are needed. They take runs from one queue.

    Args:
        name: The name of the threads.
        most: The most threads; more runs wait in the queue.
        calls: Calls the handler.
        notes: Notes what each thread runs, for a parent process; None without one.
    """

    def __init__(self, name: str, most: int, calls: HandlerCalls, notes: HandlerNotes | None = None) -> None:
        self._name = name
        self._notes = notes
        self._most = most
        self._calls = calls
        self._users = 0
        self._queue: SimpleQueue[tuple[AnyRun, Mailbox] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._running: dict[AnyRun, int] = {}
        self._submitted = 0
        self._finished = 0

    def use(self) -> None:
        """Count a user, which calls `close` once."""
        self._users += 1

    def submit(self, run: AnyRun, mailbox: Mailbox) -> None:
        """Start a run, whose result goes to a mailbox."""
        self._submitted += 1
        # Threads are started only if all that there are have a run, as a handler that is fast enough needs few of them.
        if len(self._threads) < min(self._most, self._submitted - self._finished):
            self._start_thread()
        self._queue.put((run, mailbox))

    def _start_thread(self) -> None:
        # Daemons: a handler that hangs must not keep the process from ending.
        slot = len(self._threads)
        thread = threading.Thread(target=self._work, args=(slot,), name=f"{self._name}-{slot}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self, slot: int) -> None:
        thread_id = threading.get_ident()
        while (taken := self._queue.get()) is not None:
            run, mailbox = taken
            self._running[run] = thread_id
            result = self._result(slot, run)
            del self._running[run]
            self._finished += 1
            mailbox.put(result)

    def _result(self, slot: int, run: AnyRun) -> RunResult | Exception:
        notes = self._notes
        try:
            if notes is not None:
                notes.began(slot, run)
            result = self._calls.in_thread(run)
            if notes is not None:
                notes.ended(slot)
        # Errors of handlers are results. Any other is a mistake of this package, and the thread would end unseen.
        except Exception as mistake:
            return mistake
        return result

    def cancel(self, run: AnyRun, reason: Exception) -> bool:
        """Return False: a thread cannot be cancelled."""
        return False

    def leave(self, run: AnyRun) -> None:
        """Do nothing: nobody waits for daemon threads."""

    def stack_of(self, run: AnyRun) -> str:
        """Return the stack of the thread that runs it."""
        frame = sys._current_frames().get(self._running.get(run, 0))
        return "" if frame is None else joined(traceback.format_stack(frame))

    def close(self) -> None:
        """After the last user: end the threads that are idle, and each other one after its run."""
        self._users -= 1
        if self._users <= 0:
            for _ in self._threads:
                self._queue.put(None)


class TaskSlots:
    """Tasks on an event loop, one for each run.

    Args:
        loop: The loop of the handlers; it may be the driver's, or another thread's.
        calls: Calls the handler.
        notes: Notes what each task runs, for a parent process; None without one.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, calls: HandlerCalls, notes: HandlerNotes | None = None) -> None:
        self._loop = loop
        self._notes = notes
        self._free = [] if notes is None else list(range(notes.slots))
        self._calls = calls
        self._users = 0
        self._submitted: deque[tuple[AnyRun, Mailbox]] = deque()
        self._is_told = False
        self._tasks: dict[AnyRun, asyncio.Task[None]] = {}

    def use(self) -> None:
        """Count a user, which calls `close` once."""
        self._users += 1

    def submit(self, run: AnyRun, mailbox: Mailbox) -> None:
        """Start a run, whose result goes to a mailbox."""
        self._submitted.append((run, mailbox))
        # As in the mailbox, one wake-up of the handlers' loop starts all runs that were submitted until then.
        if not self._is_told:
            self._is_told = True
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._is_told = False
        while self._submitted:
            run, mailbox = self._submitted.popleft()
            self._tasks[run] = self._loop.create_task(self._work(run, mailbox))

    async def _work(self, run: AnyRun, mailbox: Mailbox) -> None:
        slot = None
        try:
            slot = self._began(run)
            mailbox.put(await self._calls.in_task(run))
        except Exception as mistake:  # as for a thread
            mailbox.put(mistake)
        finally:
            self._ended(slot)
            del self._tasks[run]

    def _began(self, run: AnyRun) -> int | None:
        """Note a run. Returns the number of its note; None without one."""
        # There are as many notes as slots. A task that was left behind keeps its own, so none may be free for a new
        # one.
        if self._notes is None or not self._free:
            return None
        slot = self._free.pop()
        self._notes.began(slot, run)
        return slot

    def _ended(self, slot: int | None) -> None:
        if self._notes is not None and slot is not None:
            self._notes.ended(slot)
            self._free.append(slot)

    def cancel(self, run: AnyRun, reason: Exception) -> bool:
        """Cancel the attempt under way; the run's result has the reason."""
        self._loop.call_soon_threadsafe(self._cancel, run, reason)
        return True

    def _cancel(self, run: AnyRun, reason: Exception) -> None:
        task = self._tasks.get(run)
        # The run may have ended before the loop came to this. The reason is noted first, because the task looks for it
        # as soon as it is cancelled.
        if task is not None:
            self._calls.cancellations.note(run, reason)
            task.cancel()

    def leave(self, run: AnyRun) -> None:
        """Let the loop end without the task of a run, which ignores its cancellation."""
        with suppress(RuntimeError):  # the program has closed the loop
            self._loop.call_soon_threadsafe(self._leave, run)

    def _leave(self, run: AnyRun) -> None:
        task = self._tasks.get(run)
        if task is not None:
            leave_task(task)

    def stack_of(self, run: AnyRun) -> str:
        """Return where the task of a run waits."""
        task = self._tasks.get(run)
        frames = [] if task is None else _awaited(task.get_coro())
        return joined(f'  File "{f.f_code.co_filename}", line {f.f_lineno}, in {f.f_code.co_name}\n' for f in frames)

    def close(self) -> None:
        """After the last user: start nothing more. Tasks under way go on."""
        self._users -= 1
        if self._users <= 0:
            self._submitted.clear()


def _awaited(awaitable: object) -> list[FrameType]:
    """Return the frames of a coroutine and of those that it awaits; a task knows the first of them only."""
    frames: list[FrameType] = []
    while (frame := getattr(awaitable, "cr_frame", None)) is not None:
        frames.append(frame)
        awaitable = getattr(awaitable, "cr_await", None)
    return frames
