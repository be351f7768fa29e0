"""Programs in virtual time: an event loop that jumps to the next timer instead of waiting for it.

With an in-memory network, a `VirtualClock` and seeded randomness a whole cluster with its clients runs
deterministically and as fast as the processor can; an hour of heartbeats takes seconds.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.testing.clock import VirtualClock

__all__ = ["Simulation", "SimulationDeadlockError", "SimulationTimeLimitError", "VirtualTimeLoop", "run_simulated"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DEFAULT_LIMIT_S = 24 * 3600.0
_START_S = 1000.0  # not 0, so that a time that was forgotten to be set shows


class SimulationDeadlockError(KafkaGroupsError):
    """All tasks are waiting, and there is no timer that could wake one."""


class SimulationTimeLimitError(KafkaGroupsError):
    """The program did not finish within its virtual time."""


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """An event loop without sockets and threads whose time moves only when nothing is left to do.

    Args:
        limit_s: Virtual seconds after which the loop gives up.
    """

    def __init__(self, *, limit_s: float = DEFAULT_LIMIT_S) -> None:
        super().__init__()
        self._now_s = _START_S
        self._end_s = _START_S + limit_s
        self._selector = self  # asyncio's loop asks its selector to wait
        self._clock_resolution = 1e-6  # a sum of virtual times may be off by less than that

    def time(self) -> float:
        """Virtual time in seconds."""
        return self._now_s

    def select(self, timeout: float | None) -> tuple[()]:
        """Jump over the time that asyncio would wait.

        Raises:
            SimulationDeadlockError: It would wait forever.
            SimulationTimeLimitError: The virtual time is used up.
        """
        if timeout is None:
            raise SimulationDeadlockError(f"nothing is ready and there is no timer; waiting: {_waiting_tasks(self)}")
        self._now_s += timeout
        if self._now_s > self._end_s:
            self._end_s = float("inf")  # what runs now is the clean-up
            raise SimulationTimeLimitError(f"the virtual time is used up; still at work: {_waiting_tasks(self)}")
        return ()

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> "asyncio.Future[T]":
        """Not supported: threads are not deterministic."""
        raise NotImplementedError("a simulation has no threads")

    def _process_events(self, events: tuple[()]) -> None:
        """Not supported: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: the loop never sleeps."""


@frozen
class Simulation:
    """What a simulated program is given.

    Attributes:
        seed: The seed; the same seed makes the same run.
        rng: Source of all randomness.
        clock: Virtual time.
    """

    seed: int
    rng: random.Random
    clock: VirtualClock


def run_simulated(
    program: Callable[[Simulation], Coroutine[Any, Any, T]], seed: int, *, limit_s: float = DEFAULT_LIMIT_S
) -> T:
    """Run a program in virtual time and return its result; an error that leaves it carries the seed as a note.

    Raises:
        SimulationDeadlockError: Every task waited for something that nobody would do.
        SimulationTimeLimitError: The program took more than `limit_s` virtual seconds.
    """
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(limit_s=limit_s)) as runner:
        loop = runner.get_loop()
        start_s = loop.time()
        try:
            return runner.run(program(Simulation(seed, random.Random(seed), VirtualClock(loop))))
        except Exception as error:
            error.add_note(f"simulation seed {seed}, {loop.time() - start_s:.3f} virtual seconds after the start")
            raise


def _waiting_tasks(loop: asyncio.AbstractEventLoop) -> str:
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    return ", ".join(f"{task.get_name()} ({_place(task)})" for task in tasks) or "no task"


def _place(task: "asyncio.Task[Any]") -> str:
    stack = task.get_stack(limit=1)
    if not stack:
        return "not started"
    code = stack[-1].f_code
    return f"{code.co_qualname} at {code.co_filename}:{stack[-1].f_lineno}"
