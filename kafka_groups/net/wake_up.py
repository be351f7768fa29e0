"""Lets a thread wait for another one, so that Ctrl-C at any moment leaves both of them able to continue."""

import queue

from kafka_groups.net.short_waits import in_short_pieces

__all__ = ["WakeUp"]


class WakeUp:
    """Lets one thread wait until another one sets it, like `threading.Event`.

    An `Event` takes its lock in Python. A KeyboardInterrupt that strikes the main thread just then leaves it locked
    for good, and `set` blocks the other thread forever: a program that was to end with Ctrl-C hangs. Here all that
    is shared is a queue written in C, which a signal cannot cut in two.

    Unlike that of an `Event`, a wait that ends takes the signal with it, so only one thread may wait.
    """

    def __init__(self) -> None:
        self._signals: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        """End the wait, or the next one. Never blocks; may be called from any thread, also in a signal handler."""
        if self._signals.empty():
            self._signals.put(None)

    def clear(self) -> None:
        """Forget the signals so far."""
        while not self._signals.empty():
            self.wait(0)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until `set` is called, without a limit if there is no timeout. Returns whether it was called.

        A signal that comes at any moment is handled within a fraction of a second.
        """
        return in_short_pieces(self._wait, timeout_s)

    def _wait(self, timeout_s: float | None) -> bool:
        try:
            self._signals.get(timeout=timeout_s)
        except queue.Empty:
            return False
        return True
