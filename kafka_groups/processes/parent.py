"""The parent of a process as the process sees it, and the end of the process soon after that of its parent."""

import logging
import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from kafka_groups.net.spawned_process import BLOCKED_SIGNALS

__all__ = ["ParentPipe", "exit_at_the_latest", "exit_when_orphaned"]

_LOG = logging.getLogger(__name__)

_LOOK_S = 1.0
"""The time between two looks at the parent. A pipe alone is not enough: other processes may hold its end."""

_WATCHED: set[tuple[int, int]] = set()
"""This process and its parent, once it is watched. A forked child has another process id, and is watched again."""


class ParentPipe(ABC):
    """The pipe to the parent. A subclass obeys its messages, and leaves when it has ended. Make it on the main thread.

    Args:
        pipe: The pipe.
    """

    def __init__(self, pipe: Connection) -> None:
        parent = multiprocessing.parent_process()
        self._parent = os.getppid() if parent is None else parent.pid
        self._pipe = pipe
        self._sending, self._leaving = threading.Lock(), threading.Lock()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} to process {self._parent}>"

    def _follow(self) -> None:
        """Hear and watch the parent, in threads."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too, which stops its processes
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)
        self._start(self._read, "parent-orders")
        self._start(self._watch, "parent-watch")

    def _start(self, target: Callable[[], None], name: str) -> None:
        threading.Thread(target=target, name=name, daemon=True).start()

    def send(self, message: object) -> bool:
        """Send a message; any thread may call this. Returns False if the parent has ended."""
        try:
            with self._sending:
                self._pipe.send(message)
        except OSError:
            # The process learns of its parent's end in `_read` or `_watch` and leaves there, so a message that is lost
            # matters to nobody.
            _LOG.debug("The parent process has ended and does not receive %r", message)
            return False
        return True

    def _read(self) -> None:
        try:
            while True:
                self._obey(self._pipe.recv())
        except (EOFError, OSError):
            self._orphaned()

    def _watch(self) -> None:
        _wait_for_other_parent(self._parent)
        self._orphaned()

    def _orphaned(self) -> None:
        """Leave. Both threads that notice the end of the parent call this; the second call does nothing."""
        if self._leaving.acquire(blocking=False):
            self._leave()

    @abstractmethod
    def _obey(self, message: Any) -> None: ...

    @abstractmethod
    def _leave(self) -> None: ...


def exit_when_orphaned(parent: int) -> None:
    """Send SIGTERM to this process when its parent has ended; further calls for the same parent do nothing.

    It is for a process without a `ParentPipe`, such as one of Spark's, which alone would hold its locks for nobody.
    """
    if (os.getpid(), parent) in _WATCHED:
        return
    _WATCHED.add((os.getpid(), parent))
    threading.Thread(target=_terminate_when_orphaned, args=(parent,), name="orphan-watchdog", daemon=True).start()


def _terminate_when_orphaned(parent: int) -> None:
    _wait_for_other_parent(parent)
    _LOG.warning("Parent process %d has ended, so process %d ends, too; records are redelivered", parent, os.getpid())
    os.kill(os.getpid(), signal.SIGTERM)


def _wait_for_other_parent(parent: int | None) -> None:
    pause = threading.Event()
    # The system gives an orphan another parent.
    while os.getppid() == parent:
        pause.wait(_LOOK_S)


def exit_at_the_latest(status: int, after_s: float) -> None:
    """End this process with a status after some time, whatever its threads and tasks do."""
    timer = threading.Timer(after_s, _exit, (status, after_s))
    timer.daemon = True
    timer.start()


def _exit(status: int, after_s: float) -> None:
    _LOG.warning("The process has not ended within %g s, and exits", after_s)
    os._exit(status)  # code of the user's may not return
