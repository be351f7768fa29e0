"""Run a program of an application developer in a simulated world."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from kafka_groups.testing.simulation.faults.seeded_faults import SeededFaults
from kafka_groups.testing.simulation.report import SimulationFailedError, SimulationReport
from kafka_groups.testing.simulation.stage import Stage, StageOptions
from kafka_groups.testing.simulation.virtual_time import Simulation, run_simulated
from kafka_groups.testing.simulation.world import SimulatedWorld

__all__ = ["simulate"]

Program = Callable[[SimulatedWorld], Coroutine[Any, Any, object]]

_ALL_FAULTS = SeededFaults()
_LONGEST_REST_S = 3600.0


def simulate(
    program: Program,
    seed: int,
    *,
    faults: SeededFaults = _ALL_FAULTS,
    brokers: int = 3,
    settings: Mapping[str, object] | None = None,
    write_event: Callable[[str], object] = lambda _line: None,
) -> SimulationReport:
    """Run a program in virtual time, with a cluster and faults drawn from a seed, and check what its consumers did.

    The program creates topics, starts the processes of your application, produces records, awaits `world.settle()`, and
    checks its results. Then the processes are stopped, and the run is judged by the frames that were sent: nobody may
    get a record that another member holds or that is finished, and each record must be accepted, rejected or at its
    delivery limit. Blocks until the end. Minutes of virtual time take about a second.

    Args:
        program: An async function that gets the world.
        seed: The seed. The same seed makes the same run, also in another process.
        faults: The faults, their frequency and period. By default all of them, for five virtual minutes.
        brokers: Number of brokers.
        settings: The brokers' settings, by Kafka's dotted names.
        write_event: Called with a line for each event, such as `sys.stderr.write`.

    Returns:
        A report without violations.

    Raises:
        IllegalStateError: It is called while an event loop runs, such as from an async test.
        SimulationFailedError: There are violations.
        SimulationUnsupportedError: The program used a thread or a socket, or blocked with `time.sleep`.
        SimulationDeadlockError: Every task waits for something that nobody will do.
        SimulationTimeLimitError: The program took more than a virtual hour after the end of the faults.
        Exception: An error that the program raised, such as an `AssertionError`, or that ended one of its processes.
    """
    options = StageOptions(faults, brokers, settings, write_event)
    try:
        with _seeded(seed):
            return run_simulated(partial(_run, program, options), seed, limit_s=faults.seconds + _LONGEST_REST_S)
    except Exception as error:  # of the program or of the simulation; raised again with a note
        error.add_note(f"run it again: {_call(program, seed, faults)}")
        raise


async def _run(program: Program, options: StageOptions, simulation: Simulation) -> SimulationReport:
    stage = Stage.built(simulation, options)
    async with stage.cluster:
        with stage.watching():
            return await _played(stage, program)


async def _played(stage: Stage, program: Program) -> SimulationReport:
    begun_ms = stage.simulation.clock.now_ms()
    try:
        await _until_failure(stage, _live(stage, program))
        return _judged(stage, begun_ms)
    except Exception as error:  # of the program or of the simulation; raised again with a note
        stage.supervisor.kill_all()
        error.add_note(f"faults that struck: {dict(+stage.draws.counts)}")
        raise


async def _live(stage: Stage, program: Program) -> None:
    faults = asyncio.create_task(stage.strike(), name="faults")
    world = SimulatedWorld(stage, faults)
    try:
        await program(world)
        await world.settle()
        await stage.supervisor.stop_all()
    finally:
        faults.cancel()


async def _until_failure(stage: Stage, lifetime: Coroutine[Any, Any, None]) -> None:
    """Run it, and give up if a process fails."""
    task, failure = asyncio.create_task(lifetime, name="program"), stage.supervisor.failure
    await asyncio.wait([task, failure], return_when=asyncio.FIRST_COMPLETED)
    if failure.done():
        task.cancel()
        await asyncio.wait([task])
        failure.result()
    await task


def _judged(stage: Stage, begun_ms: int) -> SimulationReport:
    report = SimulationReport(
        seed=stage.simulation.seed,
        violations=tuple(stage.verdict.named([*stage.violations, *stage.verdict.violations()])),
        faults=+stage.draws.counts,
        produced=stage.verdict.produced,
        accepted=sum(len(ledger.accepted) for ledger in stage.tap.ledgers.values()),
        virtual_s=(stage.simulation.clock.now_ms() - begun_ms) / 1000,
        digest=stage.trace.digest,
    )
    if report.violations:
        raise SimulationFailedError(report)
    return report


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Let the functions of `random` return the same numbers in each run, for applications that use them."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def _call(program: Program, seed: int, faults: SeededFaults) -> str:
    function = program.func if isinstance(program, partial) else program
    more = "" if faults == _ALL_FAULTS else f", faults={faults!r}"
    return f"simulate({getattr(function, '__qualname__', function)}, seed={seed}{more})"
