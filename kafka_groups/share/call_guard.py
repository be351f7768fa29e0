"""Who may call a consumer now: one caller at a time, not from a callback, not after close, not in a forked process."""

import os
import threading
from contextlib import AbstractContextManager

from kafka_groups.errors import ClosedError, ConcurrentUseError, IllegalStateError

__all__ = ["CallGuard"]


class CallGuard:
    """Guards the calls of a consumer.

    Args:
        is_explicit: Whether the application acknowledges each record itself.

    Attributes:
        is_explicit: Whether the application acknowledges each record itself.
        is_closed: Whether the consumer was closed.
        refuses: Whether no record can be acknowledged now: in implicit mode, in a callback, after close.
    """

    def __init__(self, *, is_explicit: bool) -> None:
        self.is_explicit = is_explicit
        self.is_closed = False
        self.refuses = not is_explicit
        self._turnstile = threading.Lock()
        self._user: int | None = None
        self._process_id: int | None = None
        self._in_callback = False

    def entered(self) -> AbstractContextManager[object]:
        """Guard of every call: one at a time, not from the callback, not after close.

        Raises:
            ClosedError: The consumer was closed.
            ConcurrentUseError: Another thread or task is in a call.
            IllegalStateError: Called from the acknowledgement callback, or in a process that was forked.
        """
        self.check_usable()
        self._check_process()
        if self._turnstile.locked():
            raise ConcurrentUseError(
                f"another call is under way in thread {self._user}; a share consumer is not safe for use by several"
                " threads or tasks at once: give each its own"
            )
        self._user = threading.get_ident()
        # The lock itself is the guard: code of ours around it could be interrupted by Ctrl-C, and never release it.
        return self._turnstile

    @property
    def is_forked(self) -> bool:
        """Whether this is a copy, in a process forked from the one that used the consumer."""
        return self._process_id not in (None, os.getpid())

    def _check_process(self) -> None:
        if self.is_forked:
            raise IllegalStateError(
                f"the consumer was used in process {self._process_id} and cannot be in process {os.getpid()}, which was"
                " forked from it: connections do not survive a fork; make a new consumer in the child"
            )
        if self._process_id is None:
            self._process_id = os.getpid()

    def check_usable(self) -> None:
        """Raise when the consumer cannot be used now.

        Raises:
            ClosedError: The consumer was closed.
            IllegalStateError: Called from the acknowledgement callback.
        """
        if self.is_closed:
            raise ClosedError("the consumer was closed")
        if self._in_callback:
            raise IllegalStateError("only wakeup() may be called from the acknowledgement callback")

    def mark_closed(self) -> None:
        """The consumer is closed from here on."""
        self.is_closed = self.refuses = True

    def _enter_callback(self) -> None:
        self._in_callback = self.refuses = True

    def _leave_callback(self) -> None:
        self._in_callback, self.refuses = False, self.is_closed or not self.is_explicit
