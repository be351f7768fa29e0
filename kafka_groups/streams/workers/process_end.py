"""The end of a worker process: soon after that of its parent, whatever the user's code does."""

import logging
import os
import queue
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import FrameType

from kafka_groups.streams.workers.worker_messages import LeaveSoon, Orders

__all__ = ["LONGEST_CLOSE_S", "ProcessEnd", "read_orders"]

_log = logging.getLogger(__name__)

LONGEST_CLOSE_S = 10.0
"""The longest time that a worker process takes to end after its parent has ended, or after SIGTERM."""

_LOOK_S = 1.0
"""The time between two looks at the parent. A pipe alone is not enough: other processes may hold its end."""

_TERMINATED = 128 + signal.SIGTERM


class ProcessEnd:
    """Tells the worker to leave when its parent has ended or at SIGTERM, and ends the process if that takes too long.

    Args:
        orders: Gets `LeaveSoon`.
        parent: The process id of the parent.
        limit_s: How long the process may take to end by itself, in seconds.
        end: Ends the process with a status.
    """

    def __init__(
        self, orders: Orders, parent: int, limit_s: float = LONGEST_CLOSE_S, end: Callable[[int], object] = os._exit
    ) -> None:
        self._orders = orders
        self._parent = parent
        self._limit_s = limit_s
        self._end = end
        self._told: queue.SimpleQueue[int] = queue.SimpleQueue()

    def __repr__(self) -> str:
        return f"<ProcessEnd after that of process {self._parent}>"

    def start(self) -> None:
        """Watch the parent, and handle SIGTERM. Call it on the main thread."""
        signal.signal(signal.SIGTERM, self._terminated)
        threading.Thread(target=self._main, name="streams-process-end", daemon=True).start()

    def leave(self, status: int) -> None:
        """Let the worker leave, and the process end with an exit status. Handlers of signals may call it."""
        self._told.put(status)
        self._orders.put(LeaveSoon(status))

    def _terminated(self, _signal: int, _frame: FrameType | None) -> None:
        self.leave(_TERMINATED)

    def _main(self) -> None:
        status = self._wait()
        threading.Event().wait(self._limit_s)
        _log.warning("The worker has not ended within %g s, and its process exits", self._limit_s)
        self._end(status)  # code of the application does not return

    def _wait(self) -> int:
        while True:
            try:
                return self._told.get(timeout=_LOOK_S)
            except queue.Empty:
                if os.getppid() != self._parent:
                    self.leave(1)


def read_orders(pipe: Connection, orders: Orders, end: ProcessEnd) -> None:
    """Take what the parent says from the pipe into the queue, until the parent has ended."""
    try:
        while True:
            orders.put(pipe.recv())
    except (EOFError, OSError):
        end.leave(1)
