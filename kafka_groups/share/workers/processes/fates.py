"""Decisions about worker processes, without I/O: what the end of one means, when its successor starts, their health."""

import signal
from collections import deque
from collections.abc import Sequence
from enum import Enum, auto

from attrs import define, field, frozen

from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.messages import ChildEnded
from kafka_groups.share.workers.rules.named_suspects import RunningRange

__all__ = ["ChildExit", "ChildFate", "ChildState", "RestartWaits", "fate_of", "health_of"]

_FIRST_WAIT_MS = 100
_LONGEST_WAIT_MS = 30_000
_WINDOW_MS = 600_000
_MOST_DOUBLINGS = 10
_SILENT_MS = 30_000
_MOST_SHOWN = 5
_HUNG = 70


class ChildFate(Enum):
    """The meaning of a process's end for the others."""

    GONE = auto()
    """It ended because the worker stops."""
    RESTART = auto()
    """Another one replaces it."""
    STOP = auto()
    """The program called `stop`: all others end, too."""
    FAIL = auto()
    """An error that a restart would not help ended it: all others end, and the parent raises the error."""


@frozen
class ChildExit:
    """The end of a process.

    Attributes:
        number: The number of the process.
        status: Its exit status, or the negative number of the signal that killed it.
        has_started: Whether it handled records.
        last_words: What it reported about its end; None if it died without a report.
        running: What it was running.
    """

    number: int
    status: int
    has_started: bool
    last_words: ChildEnded | None = None
    running: Sequence[RunningRange] = ()

    @property
    def is_in_order(self) -> bool:
        """True if it ended by itself and holds no records any more."""
        return self.status == 0 and self.last_words is not None

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.running[:_MOST_SHOWN]))
        more = f" and {len(self.running) - _MOST_SHOWN} more" if len(self.running) > _MOST_SHOWN else ""
        return f"process {self.number} {self._how}" + (f" while running {shown}{more}" if shown else "")

    @property
    def _how(self) -> str:
        if self.status < 0:
            return f"was killed by signal {-self.status} ({_signal_name(-self.status)})"
        if self.status == _HUNG:
            return f"ended with status {_HUNG}, because an attempt hangs and cannot be stopped,"
        return "has ended" if self.is_in_order else f"ended with status {self.status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def fate_of(ended: ChildExit, *, is_stopping: bool, has_any_started: bool) -> ChildFate:
    """Return what the end of a process means.

    Args:
        ended: The end.
        is_stopping: Whether all processes are to end.
        has_any_started: Whether any process of this worker has started so far, which shows that its program works.
    """
    words = ended.last_words
    if words is not None and words.error is not None:
        is_final = ended.has_started or words.error.is_configuration or not has_any_started
        return ChildFate.FAIL if is_final else ChildFate.GONE if is_stopping else ChildFate.RESTART
    if is_stopping:
        return ChildFate.GONE
    if words is not None and ended.status == 0 and not words.was_terminated:
        return ChildFate.STOP
    if ended.status > 0 and not has_any_started:
        return ChildFate.FAIL
    return ChildFate.RESTART


@define
class RestartWaits:
    """The times at which a process is replaced. The wait doubles with each death of the last ten minutes, up to 30 s.

    There is no last restart: a record that kills processes must not end the worker.
    """

    _deaths_ms: deque[int] = field(factory=deque)

    def died(self, now_ms: int) -> int:
        """Note a death, and return when to start the next process."""
        while self._deaths_ms and self._deaths_ms[0] <= now_ms - _WINDOW_MS:
            self._deaths_ms.popleft()
        doublings = min(len(self._deaths_ms), _MOST_DOUBLINGS)
        self._deaths_ms.append(now_ms)
        return now_ms + min(_FIRST_WAIT_MS << doublings, _LONGEST_WAIT_MS)


@frozen
class ChildState:
    """A process as its parent knows it.

    Attributes:
        number: Its number.
        is_running: Whether there is a process now.
        health: Its last report about its health; None before the first.
        silent_ms: How long ago that was, or the process was started.
    """

    number: int
    is_running: bool
    health: Health | None
    silent_ms: int


def health_of(states: Sequence[ChildState]) -> Health:
    """Return the health of all processes together.

    They are live if each is live or about to be replaced, and ready if each is ready.
    """
    reasons = tuple(f"process {state.number}: {reason}" for state in states for reason in _reasons(state))
    return Health(all(map(_is_live, states)), not reasons, reasons)


def _is_live(state: ChildState) -> bool:
    if not state.is_running:
        return True
    return state.silent_ms < _SILENT_MS and (state.health is None or state.health.is_live)


def _reasons(state: ChildState) -> Sequence[str]:
    if not state.is_running:
        return ("it is not running",)
    if state.silent_ms >= _SILENT_MS:
        return (f"it has not reported for {state.silent_ms // 1000} s",)
    if state.health is None:
        return ("it is starting",)
    return state.health.reasons or (() if state.health.is_ready else ("it is not ready",))
