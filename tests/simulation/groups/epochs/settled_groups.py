"""The end of a run: everything has an owner, and neither restarts nor a move of the coordinator move anything."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Generic

from attrs import frozen

from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.coordination import (
    is_steady,
    link_to,
    move_coordinator,
    read_offsets,
    within,
)
from tests.simulation.groups.crew import Act
from tests.simulation.groups.epochs.deployment import EpochDeployment, M, S
from tests.simulation.groups.epochs.ledger import EpochLedger
from tests.simulation.groups.timing import SESSION_S

__all__ = ["TAKE_OVER_S", "SettledGroups"]

TAKE_OVER_S = 30
_CALM_S = 120
_STEADY_S = SESSION_S + 3
_HEARD_S = 8
"""So long after a move, every member has found the new coordinator. Who leaves before that may not find it."""


@frozen
class SettledGroups(Generic[S, M]):
    """The end of a run.

    Attributes:
        world: Where the members live.
        ledger: Everything that was seen of them.
        deployment: Their processes.
        group_id: Their group.
        describe: The request for the state of the group.
        changes: Changes that the group must take well, made and checked one after the other.
    """

    world: SimulatedWorld
    ledger: EpochLedger[Any, Any]
    deployment: EpochDeployment[S, M]
    group_id: str
    describe: object
    changes: Sequence[Act]

    async def is_reached(self) -> bool:
        """Wait until everything has an owner. Return whether that happened in time."""
        if await is_steady(lambda: self.deployment.is_calm, lambda: self.ledger.changes, _STEADY_S, _CALM_S):
            return True
        members = self.deployment.crew.members()
        self._complain(f"not settled after {_CALM_S} s: {self.deployment.problem or 'nothing is wrong'}: {members}")
        return False

    async def check(self) -> None:
        """Disturb the group in ways that it must take well."""
        await self._expect_stable()
        await self._restart_quietly()
        move_coordinator(self.world, self.group_id)
        await asyncio.sleep(_HEARD_S)
        await self._restart_quietly()
        for change in self.changes:
            await change()
        await self._expect_stable()
        await read_offsets(self.world, self.group_id)

    async def _restart_quietly(self) -> None:
        """Stop each static member and start it again. It gets its place back, and nobody else notices."""
        for before in [each for each in self.deployment.crew.members() if each.seat.instance is not None]:
            await self._restart_one(before)

    async def _restart_one(self, before: M) -> None:
        were, seat = self._owned(), self.deployment.rules.successor(before)
        await self.deployment.crew.stop(seat)
        process = self.deployment.crew.start(seat)
        if not await within(TAKE_OVER_S, lambda: process.member is not None and process.member.is_in):
            self._complain(f"{seat.name} did not come back")
        elif self._owned() != were:
            self._complain(f"the restart of {seat.name} moved something: {self._owned()}, and before {were}")

    def _owned(self) -> Mapping[str, tuple[int, object]]:
        """Return the epoch of each member, and what it owns."""
        return {each.seat.name: (each.epoch, each.owned) for each in self.deployment.crew.members()}

    async def _expect_stable(self) -> None:
        link = link_to(self.world, self.group_id, "reader")
        await link.find(0)
        [group] = (await link.ask(self.describe, 1)).groups
        link.close()
        if group.group_state != "Stable" or len(group.members) != len(self.deployment.crew.seats):
            self._complain(f"the group is {group.group_state} with {len(group.members)} members")

    def _complain(self, text: str) -> None:
        self.world.violations.append(text)
