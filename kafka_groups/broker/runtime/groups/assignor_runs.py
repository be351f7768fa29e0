"""Runs assignors of applications, which may be anybody's code, off the event loop (KIP-924).

Those of one assignor run one after the other. Code in a thread cannot be stopped: what does not return in time is given
up, and the assignor is not started again until it returns.
"""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial

from attrs import define, field, frozen

from kafka_groups.assignment import TaskAssignmentError
from kafka_groups.assignment.application.assignor_run import Computed, computed
from kafka_groups.broker.coordinators.groups.streams.assigning.target import SLOW_ASSIGNOR_MS
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment
from kafka_groups.broker.runtime.running_aside import RunAside
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.net.clock import Clock

__all__ = ["AssignorRuns"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

Told = Callable[[Computed | Exception], None]
"""Takes the result of an assignor, or the error."""


@frozen(eq=False)
class _Run:
    """A computation that has been asked for.

    Attributes:
        effect: The computation.
        told: Takes the result.
    """

    effect: ComputeAssignment
    told: Told


@define(eq=False)
class _Lane:
    """The computations of one assignor.

    Attributes:
        waiting: Those that have not begun.
        running: The one that runs; None if it was given up, or nothing runs.
        is_busy: Whether the assignor has not returned yet.
    """

    waiting: deque[_Run] = field(factory=deque)
    running: _Run | None = None
    is_busy: bool = False


class AssignorRuns:
    """The assignors that one broker runs.

    Args:
        run_aside: Runs a function off the event loop.
        later: Calls a function after a number of milliseconds, unless the broker has stopped by then.
        clock: The clock of the broker.
        timeout_ms: How long an assignor may take.
    """

    def __init__(
        self, run_aside: RunAside, later: Callable[[int, Callable[[], None]], None], clock: Clock, timeout_ms: int
    ) -> None:
        self._run_aside = run_aside
        self._later = later
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._lanes: dict[str, _Lane] = {}

    def __repr__(self) -> str:
        busy = [name for name, lane in self._lanes.items() if lane.is_busy]
        return f"<AssignorRuns: {', '.join(busy) or 'nothing'} running>"

    def start(self, effect: ComputeAssignment, told: Told) -> None:
        """Run an assignor, and tell its result later, in the event loop."""
        lane = self._lanes.setdefault(effect.assignor.name, _Lane())
        lane.waiting.append(_Run(effect, told))
        self._advance(effect.assignor.name, lane)

    def _advance(self, name: str, lane: _Lane) -> None:
        if lane.is_busy and lane.running is None:
            self._refuse_waiting(name, lane)
        if lane.is_busy or not lane.waiting:
            return
        run = lane.running = lane.waiting.popleft()
        lane.is_busy = True
        begun_ms = self._clock.now_ms()
        self._later(self._timeout_ms, partial(self._give_up, name, lane, run))
        work = partial(computed, run.effect.assignor, run.effect.given)
        self._run_aside(name, work, partial(self._returned, name, lane, run, begun_ms))

    def _returned(self, name: str, lane: _Lane, run: _Run, begun_ms: int, result: Computed | Exception) -> None:
        lane.is_busy = False
        took_ms = self._clock.now_ms() - begun_ms
        if took_ms > SLOW_ASSIGNOR_MS:
            _log.warning("group %s: the task assignor %s took %d ms.", run.effect.group_id, name, took_ms)
        if lane.running is run:
            lane.running = None
            _log_callback(name, result)
            run.told(result)
        self._advance(name, lane)

    def _give_up(self, name: str, lane: _Lane, run: _Run) -> None:
        if lane.running is not run:
            return
        lane.running = None
        run.told(
            TaskAssignmentError(
                f"the task assignor {name} has not returned within {self._timeout_ms} ms "
                "(group.streams.assignor.timeout.ms). It cannot be stopped, and does not run again until it returns."
            )
        )
        self._advance(name, lane)

    def _refuse_waiting(self, name: str, lane: _Lane) -> None:
        while lane.waiting:
            lane.waiting.popleft().told(TaskAssignmentError(f"the task assignor {name} has not returned yet."))


def _log_callback(name: str, result: Computed | Exception) -> None:
    if isinstance(result, Computed) and result.callback_error is not None:
        _log.warning("The task assignor %s failed in on_assignment_computed.", name, exc_info=result.callback_error)
