"""The thread of an asynchronous client that blocking code calls. It starts with the first call."""

import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafka_groups.errors import ClosedError
from kafka_groups.net.loop_thread import LoopThread

__all__ = ["ClientThread"]

T = TypeVar("T")

Close = Callable[[], Coroutine[Any, Any, object]]


class ClientThread:
    """Runs the calls of one asynchronous client on an event loop of their own.

    Any thread may call it, also one whose own event loop runs the code that calls: that loop stands still until
    the call returns. After a fork, the child cannot use it. If it is dropped without being closed, the client is closed
    then.

    Args:
        what: The client, for messages: "admin client".
        name: The name of the thread.
        close: Closes the client; called on its loop.
    """

    def __init__(self, what: str, name: str, close: Close) -> None:
        self._what = what
        self._thread = LoopThread(name)
        self._starting = threading.Lock()
        self._is_started = self._is_closed = False
        self._finalizer = weakref.finalize(self, _abandon, self._thread, close)

    def __repr__(self) -> str:
        return f"<ClientThread of the {self._what}: {self._thread!r}>"

    @property
    def is_running(self) -> bool:
        """True from the first call until the thread is closed."""
        return self._finalizer.alive and self._thread.is_running

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a call of the client, wait for it and return its result.

        Raises:
            ClosedError: The thread was closed.
            IllegalStateError: Called in a process forked from the one that started the thread, or on the thread itself.
            TimeoutError: The call took longer than `timeout_s` seconds.
        """
        try:
            self._start()
        except BaseException:  # also Ctrl-C: a coroutine that never runs must be closed
            coroutine.close()
            raise
        return self._thread.run(coroutine, timeout_s)

    def close(self) -> None:
        """Close the client and end the thread. Calls of other threads fail."""
        self._is_closed = True
        self._finalizer()

    def _start(self) -> None:
        with self._starting:
            if self._is_closed:
                raise ClosedError(f"The {self._what} was closed.")
            if not self._is_started:
                self._thread.start()
                self._is_started = True


def _abandon(thread: LoopThread, close: Close) -> None:
    """Drop the connections and end the thread; runs where the client was closed or garbage-collected."""
    thread.stop(last=close() if thread.is_running else None)
