"""Guards a client against wrong calls: by two callers at a time, after close, or in a forked process."""

import os
import threading
from contextlib import AbstractContextManager

from kafka_groups.errors import ClosedError, ConcurrentUseError, IllegalStateError

__all__ = ["CallGuard"]


class CallGuard:
    """Guards the calls of a client.

    Args:
        what: What the client is, for messages: "consumer", "member".

    Attributes:
        is_closed: Whether the client was closed.
        is_usable: Whether `check_usable` would let a call through.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.is_closed = False
        self.is_usable = True
        self._turnstile = threading.Lock()
        self._user: int | None = None
        self._process_id: int | None = None

    def entered(self) -> AbstractContextManager[object]:
        """Guard of every call: one at a time, not after close.

        Raises:
            ClosedError: The client was closed.
            ConcurrentUseError: Another thread or task is in a call.
            IllegalStateError: Called in a process that was forked.
        """
        if not self.is_usable or self._process_id != os.getpid():
            self.check_usable()
            self.check_process()
        if self._turnstile.locked():
            raise ConcurrentUseError(
                f"another call is under way in thread {self._user}; a {self._what} is not safe for use by several"
                " threads or tasks at once: give each its own"
            )
        self._user = threading.get_ident()
        # The lock itself is the guard: code of ours around it could be interrupted by Ctrl-C, and never release it.
        return self._turnstile

    @property
    def is_forked(self) -> bool:
        """True if this is a copy, in a process forked from the one that used the client."""
        return self._process_id not in (None, os.getpid())

    def check_process(self) -> None:
        """Note the process that uses the client.

        Raises:
            IllegalStateError: It is a fork of the one that used it before.
        """
        if self.is_forked:
            raise IllegalStateError(
                f"the {self._what} was used in process {self._process_id} and cannot be in process {os.getpid()}, which"
                f" was forked from it: connections do not survive a fork; make a new {self._what} in the child"
            )
        if self._process_id is None:
            self._process_id = os.getpid()

    def check_usable(self) -> None:
        """Raise when the client cannot be used now.

        Raises:
            ClosedError: It was closed.
        """
        if self.is_closed:
            raise ClosedError(f"the {self._what} was closed")

    def mark_closed(self) -> None:
        """The client is closed from here on."""
        self.is_closed, self.is_usable = True, False
