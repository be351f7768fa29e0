"""Tasks that ignore their cancellation: nobody waits for them any longer, so that their loop and the program can end.

`asyncio.run` and `LoopThread.stop` cancel all tasks of their loop and wait for them, without end for such a task.
"""

import asyncio
import ctypes
import logging
from typing import Any

__all__ = ["end_tasks", "leave_task"]

_LOG = logging.getLogger("kafka_groups.worker")

_TIME_TO_END_S = 2.0
"""The tasks of a worker's loop have this long to end after they were cancelled."""


def leave_task(task: asyncio.Task[Any]) -> None:
    """Take a task out of those that the end of its loop waits for. Call it on the loop.

    The task runs on as long as its loop does.
    """
    if task.done():
        return
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    asyncio._unregister_task(task)
    # Nothing may collect the task, not even the end of the interpreter, which clears all modules: collected coroutines
    # get GeneratorExit, and one that swallows that, too, would run in a loop that nobody can end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))
    task.add_done_callback(_ended)


def _ended(task: asyncio.Task[Any]) -> None:
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(task))
    if not task.cancelled():
        task.exception()  # nobody else retrieves it


async def end_tasks() -> None:
    """Cancel all other tasks of the running loop, which is the worker's own, and leave those that ignore it."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if not tasks:
        return
    for task in tasks:
        task.cancel()
    _, pending = await asyncio.wait(tasks, timeout=_TIME_TO_END_S)
    for task in pending:
        _LOG.warning("The worker ends without a task that a handler has started and that ignores its end: %r", task)
        leave_task(task)
