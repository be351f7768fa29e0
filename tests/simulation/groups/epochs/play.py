"""One run of a group whose members have epochs, from the first process to the verdict."""

import asyncio

from tests.simulation.coincidences import counted
from tests.simulation.groups.crew import Act
from tests.simulation.groups.epochs.deployment import M, S
from tests.simulation.groups.epochs.settled_groups import SettledGroups

__all__ = ["play"]


async def _nothing() -> None:
    """Do nothing."""


async def play(settled: SettledGroups[S, M], when_faults_end: Act = _nothing) -> None:
    """Start all processes, disturb them while faults strike, and check what must hold afterwards."""
    world, deployment = settled.world, settled.deployment
    settled.ledger.watch()
    deployment.refusal.install()
    deployment.crew.start_all()
    supervising = asyncio.create_task(deployment.crew.supervise())
    with counted(world.struck):
        await deployment.disturb()
        await when_faults_end()
        await world.settle()
        is_reached = await settled.is_reached()
        supervising.cancel()
        if is_reached:
            await settled.check()
