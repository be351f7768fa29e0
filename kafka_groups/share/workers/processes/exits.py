"""Decisions about worker processes, without I/O: what the end of one means for the others, and the health of all."""

import signal
from collections.abc import Sequence
from enum import Enum, auto

from attrs import frozen

from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.messages import ChildEnded
from kafka_groups.share.workers.rules.named_suspects import RunningRange, listed

__all__ = ["ChildExit", "ChildState", "ExitOutcome", "exit_outcome", "health_of"]

# Processes report once a second. One that has not for this long does not run its threads any more, for example because
# C code keeps the GIL.
_SILENT_MS = 30_000
_HUNG = 70


class ExitOutcome(Enum):
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
        return f"process {self.number} {self._how}" + (f" while running {listed(self.running)}" if self.running else "")

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


def exit_outcome(ended: ChildExit, *, is_stopping: bool, has_any_started: bool) -> ExitOutcome:
    """Return what the end of a process means.

    Args:
        ended: The end.
        is_stopping: Whether all processes are to end.
        has_any_started: Whether any process of this worker has started so far, which shows that its program works.
    """
    words = ended.last_words
    # The process has reported an error. There are three cases in which another process would end in the same way: it
    # had started, so a rule of the user or the group ended it; the configuration is wrong; or no process has ever
    # started. Otherwise a start failed for a reason that may pass, such as brokers that do not answer, while other
    # processes run.
    if words is not None and words.error is not None:
        is_final = ended.has_started or words.error.is_configuration or not has_any_started
        return ExitOutcome.FAIL if is_final else ExitOutcome.GONE if is_stopping else ExitOutcome.RESTART
    if is_stopping:
        return ExitOutcome.GONE
    # The program has called `stop` in this process, and means the whole worker. A process to which somebody has sent
    # SIGTERM is replaced instead: the parent was not told to stop.
    if words is not None and ended.status == 0 and not words.was_terminated:
        return ExitOutcome.STOP
    # A program that fails before anything has started fails each time, for example because it calls `run` without the
    # check of `__name__`, and would be started without end.
    if ended.status > 0 and not has_any_started:
        return ExitOutcome.FAIL
    # It was killed, or an attempt hung. The record that it was running runs alone from now on.
    return ExitOutcome.RESTART


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
    # A process that is about to be replaced needs no restart of the whole worker, which would end all others.
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
