"""Programs in virtual time: an event loop that jumps to the next timer instead of waiting for it.

With an in-memory network, a `VirtualClock` and seeded randomness a whole cluster with its clients runs
deterministically and as fast as the processor can; an hour of heartbeats takes seconds.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from attrs import frozen

from kafka_groups.errors import IllegalStateError, KafkaGroupsError
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.simulation.lifetimes import LIFETIME, LifetimeStep, end_lifetimes
from kafka_groups.testing.simulation.refusals import LOOP_REFUSALS, SimulationUnsupportedError, refuse, sealed

__all__ = ["Simulation", "SimulationDeadlockError", "SimulationTimeLimitError", "VirtualTimeLoop", "run_simulated"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DEFAULT_LIMIT_S = 24 * 3600.0
_MOST_PASSES = 100_000  # of the loop at one moment; a seed of ours has some hundreds
_START_S = 1000.0  # not 0, so that a time that was forgotten to be set shows


class SimulationDeadlockError(KafkaGroupsError):
    """All tasks are waiting, and there is no timer that could wake one."""


class SimulationTimeLimitError(KafkaGroupsError):
    """The program did not finish within its virtual time, or is so busy that no time passes."""


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """An event loop without sockets and threads whose time moves only when nothing is left to do.

    Args:
        limit_s: Virtual seconds after which the loop gives up.

    Attributes:
        refused: The operations of the program that do not exist in virtual time.
    """

    def __init__(self, *, limit_s: float = DEFAULT_LIMIT_S) -> None:
        super().__init__()
        self._now_s = _START_S
        self._end_s = _START_S + limit_s
        self._passes, self._most_passes = 0, float(_MOST_PASSES)
        self.refused: list[SimulationUnsupportedError] = []
        self._selector = self  # asyncio's loop asks its selector to wait
        self._clock_resolution = 1e-6  # a sum of virtual times may be off by less than that

    def time(self) -> float:
        """Virtual time in seconds."""
        return self._now_s

    def select(self, timeout: float | None) -> tuple[()]:
        """Jump over the time that asyncio would wait.

        Raises:
            SimulationDeadlockError: It would wait forever.
            SimulationTimeLimitError: The virtual time is used up, or none passes.
        """
        if timeout is None:
            raise SimulationDeadlockError(f"nothing is ready and there is no timer; waiting: {_waiting_tasks(self)}")
        self._passes = 0 if timeout else self._passes + 1
        if self._passes > self._most_passes:
            self._most_passes = float("inf")  # what runs now is the clean-up
            raise SimulationTimeLimitError(
                f"no virtual time passes, as something is always ready; at work: {_waiting_tasks(self)}"
            )
        self._now_s += timeout
        if self._now_s > self._end_s:
            self._end_s = float("inf")  # what runs now is the clean-up
            raise SimulationTimeLimitError(f"the virtual time is used up; still at work: {_waiting_tasks(self)}")
        return ()

    def block(self, seconds: float) -> None:
        """Let time pass while nothing runs, as a function does that blocks the loop.

        All simulated processes stand still. `SimulatedProcess.stall` has one of them stand still.
        """
        self._now_s += seconds

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call it on the next turn, unless the simulated process that asks is killed before."""
        step = LifetimeStep(callback, args)
        step.handle = super().call_soon(step, context=context)
        return step.handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call it on the next turn, as `call_soon`: there are no other threads."""
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call it at a time, unless the simulated process that asks is killed before."""
        step = LifetimeStep(callback, args)
        step.handle = handle = super().call_at(when, step, context=context)
        return handle

    def create_task(self, coro: Coroutine[Any, Any, T], **options: Any) -> "asyncio.Task[T]":  # type: ignore[override]
        """Create a task, which belongs to the simulated process that asks."""
        task = super().create_task(coro, **options)
        context = options.get("context")
        lifetime = LIFETIME.get() if context is None else context.get(LIFETIME)
        if lifetime is not None:
            lifetime.has_begun(task)
        return task

    def _asyncgen_firstiter_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        """Leave out the generators of simulated processes, as closing those of a killed one would run its code."""
        if LIFETIME.get() is None:
            super()._asyncgen_firstiter_hook(agen)  # type: ignore[misc] # a method of asyncio's loop

    def _process_events(self, events: tuple[()]) -> None:
        """Not supported: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: the loop never sleeps."""


def _refusal(name: str, reason: str) -> Callable[..., object]:
    def refused(self: VirtualTimeLoop, *_arguments: object, **_keywords: object) -> object:
        refuse(name, reason, self.refused)

    return refused


for _name, _reason in LOOP_REFUSALS.items():
    setattr(VirtualTimeLoop, _name, _refusal(_name, _reason))


@frozen
class Simulation:
    """The tools of a simulated program: seed, randomness and clock.

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
        IllegalStateError: It is called while an event loop runs, such as from an async test.
        SimulationDeadlockError: Every task waited for something that nobody would do.
        SimulationTimeLimitError: The program took more than `limit_s` virtual seconds.
        SimulationUnsupportedError: The program used a thread or a socket, or blocked with `time.sleep`.
    """
    _check_no_loop()
    end_lifetimes()
    loop = VirtualTimeLoop(limit_s=limit_s)
    start_s = loop.time()
    with sealed(loop.refused), asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            result = runner.run(program(Simulation(seed, random.Random(seed), VirtualClock(loop))))
            if loop.refused:
                raise loop.refused[0]
        except Exception as error:  # of the program or of the simulation; raised again with a note
            error.add_note(f"simulation seed {seed}, {loop.time() - start_s:.3f} virtual seconds after the start")
            raise
    return result


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise IllegalStateError(
        "A simulation has an event loop of its own, and another one is running. Call it from a function that is not"
        " async."
    )


def _waiting_tasks(loop: asyncio.AbstractEventLoop) -> str:
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    return ", ".join(f"{task.get_name()} ({_place(task)})" for task in tasks) or "no task"


def _place(task: "asyncio.Task[Any]") -> str:
    stack = task.get_stack(limit=1)
    if not stack:
        return "not started"
    code = stack[-1].f_code
    return f"{code.co_qualname} at {code.co_filename}:{stack[-1].f_lineno}"
