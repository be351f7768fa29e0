"""The state of an application, which several threads see and wait for."""

import enum
import logging
import queue
import threading
from collections.abc import Callable

__all__ = ["ApplicationLife", "StreamsState"]

_log = logging.getLogger(__name__)


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
        self._changed = threading.Condition()
        self._state = StreamsState.CREATED
        self._listener = listener
        self._endings: queue.SimpleQueue[None] = queue.SimpleQueue()
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
        with self._changed:
            before = self._state
            if state is before or before in _ENDED or _goes_back(before, state):
                return
            self._state, self.error = state, error or self.error
            self._changed.notify_all()
        if state in _ENDED or state is StreamsState.PENDING_SHUTDOWN:
            self.ask_to_end()
        if self._listener is not None:
            self._tell(state, before)

    def wait_for(self, wanted: Callable[[StreamsState], bool], timeout_s: float | None) -> bool:
        """Block until the state is what is wanted. Return False if the time is up before."""
        with self._changed:
            return self._changed.wait_for(lambda: wanted(self._state), timeout_s)

    def ask_to_end(self) -> None:
        """Let `wait_to_end` return. A handler of signals may call it at any moment: the queue is made for that."""
        self._endings.put(None)

    def wait_to_end(self) -> None:
        """Block until the application has ended, is being closed, or `ask_to_end` is called or was called."""
        self._endings.get()

    def _tell(self, state: StreamsState, before: StreamsState) -> None:
        try:
            self._listener(state, before)  # type: ignore[misc]
        except Exception:  # the application goes on, as its state is right
            _log.exception("The listener of states failed at %s", state.name)


def _goes_back(before: StreamsState, state: StreamsState) -> bool:
    return before is StreamsState.PENDING_SHUTDOWN and state in (StreamsState.REBALANCING, StreamsState.RUNNING)
