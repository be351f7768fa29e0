"""One simulated run of a classic group with static and dynamic members, and its verdict."""

import asyncio
from collections.abc import Callable
from functools import partial

from attrs import frozen

from kafka_groups.testing.simulation import SimulatedWorld, SimulationReport, simulate
from tests.simulation.classic.deployment import Deployment
from tests.simulation.classic.ledger import OBSERVED, ClassicLedger
from tests.simulation.classic.member import GROUP, PARTITIONS, TOPIC, Member, Phase
from tests.simulation.groups.coordination import (
    is_coordinated,
    is_steady,
    move_coordinator,
    read_offsets,
    told_of_losses,
    within,
)
from tests.simulation.groups.faults import faults_for
from tests.simulation.groups.timing import SESSION_S
from tests.simulation.reporting import report_of

__all__ = ["run_classic_world"]

FAULTY_S, CALM_S, TAKE_OVER_S = 150, 150, 30
STEADY_S = SESSION_S + 3
_FAULTS = faults_for(FAULTY_S)
_SETTINGS = {"offsets.topic.num.partitions": "2", "group.initial.rebalance.delay.ms": "1000"}


@frozen
class _Run:
    """The parts of a run."""

    world: SimulatedWorld
    ledger: ClassicLedger
    deployment: Deployment


def run_classic_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    return report_of(partial(simulate, _run, seed, faults=_FAULTS, settings=_SETTINGS, write_event=write_event))


async def _run(world: SimulatedWorld) -> None:
    world.cluster.create_topic(TOPIC, PARTITIONS)
    ledger = ClassicLedger(world.clock, world.tap.is_open, lambda: is_coordinated(world, GROUP), world.violations)
    run = _Run(world, ledger, Deployment(world))
    crew = run.deployment.crew
    world.tap.watch(OBSERVED, ledger)
    run.deployment.refusal.install()
    with told_of_losses(GROUP, ledger.coordinator_lost):
        crew.start_all()
        watching = [asyncio.create_task(crew.supervise()), asyncio.create_task(_look_for_unanswered(run))]
        await run.deployment.disturb()
        await world.settle()
        await _settled(run)
        for task in watching:
            task.cancel()


async def _settled(run: _Run) -> None:
    """Wait until the group is stable, and restart every instance: nothing may move."""
    if not await is_steady(lambda: run.deployment.is_calm, lambda: run.ledger.generations.newest, STEADY_S, CALM_S):
        run.world.violations.append(f"not stable after {CALM_S} s: {run.deployment.crew.members()}")
        return
    await _restart_quietly(run)
    move_coordinator(run.world, GROUP)
    await _restart_quietly(run)
    await read_offsets(run.world, GROUP)


async def _restart_quietly(run: _Run) -> None:
    for before in [each for each in run.deployment.crew.members() if each.seat.instance is not None]:
        process = run.deployment.crew.start(before.seat)
        is_in = await within(TAKE_OVER_S, lambda: _is_alone(run, before, process.member))  # noqa: B023
        after = process.member
        if not is_in or after is None:
            run.world.violations.append(f"{before.seat.name} was not taken over")
        elif (after.generation, after.partitions) != (before.generation, before.partitions):
            run.world.violations.append(f"the restart of {before.seat.name} moved something: {before}, {after}")


def _is_alone(run: _Run, before: Member, after: Member | None) -> bool:
    is_in = after is not None and after.phase is Phase.IN
    return is_in and before.phase is Phase.OUT and len(run.deployment.crew.running(before.seat.name)) == 1


# ----------------------------------------------------------------------------------------------- looking


async def _look_for_unanswered(run: _Run) -> None:
    while True:
        await asyncio.sleep(5)
        run.world.violations += run.ledger.unanswered()
