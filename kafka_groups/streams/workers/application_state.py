"""The state of an application, which several threads see and wait for."""

import enum
import logging
import threading
from collections.abc import Callable

from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.wake_up import WakeUp

__all__ = ["ApplicationLife", "StreamsState"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)


class StreamsState(enum.Enum):
    """The states of an application, as in Kafka Streams."""

    CREATED = "created"
    """Not started yet."""
    REBALANCING = "rebalancing"
    """It waits for tasks, or restores some. Tasks that are restored run."""
    RUNNING = "running"
    """All its tasks run."""
    PENDING_SHUTDOWN = "pending shutdown"
    """It is closing its tasks."""
    NOT_RUNNING = "not running"
    """Closed."""
    ERROR = "error"
    """Ended by an error."""


_ENDED = (StreamsState.NOT_RUNNING, StreamsState.ERROR)

StateListener = Callable[[StreamsState, StreamsState], None]
"""Gets the new state and the one before, on the thread of the worker or of the call that changed it."""


class ApplicationLife:
    """The state, the error that ended the application, and the calls that wait for them. Any thread may use it."""

    def __init__(self, listener: StateListener | None) -> None:
        self._entering = threading.Lock()  # written in C, so Ctrl-C cannot leave it locked (see `WakeUp`)
        self._waiting: list[WakeUp] = []
        self._state = StreamsState.CREATED
        self._listener = listener
        self._ending = WakeUp()
        self.error: BaseException | None = None

    def __repr__(self) -> str:
        return f"<ApplicationLife {self._state.name}>"

    @property
    def state(self) -> StreamsState:
        """The state."""
        return self._state

    @property
    def has_ended(self) -> bool:
        """True if the application is closed, or ended by an error."""
        return self._state in _ENDED

    def enter(self, state: StreamsState, error: BaseException | None = None) -> None:
        """Change the state, unless the application has ended or is ending and would run again."""
        with self._entering:
            before = self._state
            if state is before or before in _ENDED or _goes_back(before, state):
                return
            self._state, self.error = state, error or self.error
        for changed in tuple(self._waiting):
            changed.set()
        if state in _ENDED or state is StreamsState.PENDING_SHUTDOWN:
            self.ask_to_end()
        if self._listener is not None:
            self._tell(state, before)

    def wait_for(self, wanted: Callable[[StreamsState], bool], timeout_s: float | None) -> bool:
        """Block until the state is what is wanted. Return False if the time is up before."""
        clock, changed = SystemClock(), WakeUp()
        until_ms = None if timeout_s is None else clock.now_ms() + round(timeout_s * 1000)
        self._waiting.append(changed)
        try:
            while not wanted(self._state):
                left_s = None if until_ms is None else max(0, until_ms - clock.now_ms()) / 1000
                if not changed.wait(left_s):
                    return wanted(self._state)
            return True
        finally:
            self._waiting.remove(changed)

    def ask_to_end(self) -> None:
        """Let `wait_to_end` return. A handler of signals may call it at any moment: `WakeUp` is made for that."""
        self._ending.set()

    def wait_to_end(self) -> None:
        """Block until the application has ended, is being closed, or `ask_to_end` is called or was called.

        One thread may wait, the main one if a handler of signals calls `ask_to_end`.
        """
        self._ending.wait()

    def _tell(self, state: StreamsState, before: StreamsState) -> None:
        try:
            self._listener(state, before)  # type: ignore[misc]
        except Exception:  # the application goes on, as its state is right
            _log.exception("The listener of states failed at %s", state.name)


def _goes_back(before: StreamsState, state: StreamsState) -> bool:
    return before is StreamsState.PENDING_SHUTDOWN and state in (StreamsState.REBALANCING, StreamsState.RUNNING)
