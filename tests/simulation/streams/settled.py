"""What must hold once faults have ended: all tasks have owners, restarts move nothing, changes are followed quickly."""

import asyncio

from attrs import frozen

from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.coordination import (
    is_steady,
    link_to,
    move_coordinator,
    read_offsets,
    within,
)
from tests.simulation.groups.timing import SESSION_S
from tests.simulation.streams.deployment import Deployment
from tests.simulation.streams.ledger import StreamsLedger
from tests.simulation.streams.member import Member, Seat
from tests.simulation.streams.topics import GROUP, Tasks, grow

__all__ = ["HEARTBEAT_S", "Settled"]

HEARTBEAT_S = 2
_CALM_S, _TAKE_OVER_S = 120, 30
_STEADY_S = SESSION_S + 3
_HEARD_S = 8
"""So long after a move, every member has found the new coordinator. Who leaves before that may not find it."""
_ROUNDS = 3
_LATE_S = 2.0
"""The assignment interval, and the time that programs take to close tasks."""
_TAGS = "streams.rack.aware.assignment.tags"

_ByRole = tuple[Tasks, Tasks]


@frozen
class Settled:
    """The end of a run.

    Attributes:
        world: Where the members live.
        ledger: What was seen of them.
        deployment: Their processes.
        supervising: Starts processes again that nobody runs, until the group is settled.
    """

    world: SimulatedWorld
    ledger: StreamsLedger
    deployment: Deployment
    supervising: asyncio.Task[None]

    async def check(self) -> None:
        """Wait until every task has its owner, and disturb the group in ways that it must take well."""
        if not await is_steady(lambda: self.deployment.is_calm, lambda: self.ledger.changes, _STEADY_S, _CALM_S):
            members = self.deployment.crew.members()
            self._complain(f"not settled after {_CALM_S} s: {self.deployment.problem or 'nothing is wrong'}: {members}")
            return
        self.supervising.cancel()
        await self._expect_state("Stable")
        await self._restart_quietly()
        move_coordinator(self.world, GROUP)
        await asyncio.sleep(_HEARD_S)
        await self._restart_quietly()
        await self._assign_again()
        await self._leave_and_return()
        await self._grow_quietly()
        await self._expect_state("Stable")
        await read_offsets(self.world, GROUP)

    def _complain(self, text: str) -> None:
        self.world.violations.append(text)

    def _tasks(self) -> dict[str, _ByRole]:
        return {each.seat.name: (each.active, each.standby) for each in self.deployment.crew.members()}

    # ------------------------------------------------------------------------------------ nothing moves

    async def _restart_quietly(self) -> None:
        """Stop each static member and start it again. It gets its tasks back, and nobody else notices."""
        for before in [each for each in self.deployment.crew.members() if each.seat.instance is not None]:
            await self._restart_one(before)

    async def _restart_one(self, before: Member) -> None:
        were, epoch = self._tasks(), before.epoch
        after = await self._started_again(before.seat)
        if after is None:
            self._complain(f"{before.seat.name} did not come back")
        elif self._tasks() != were or {each.epoch for each in self.deployment.crew.members()} != {epoch}:
            self._complain(f"the restart of {before.seat.name} moved something: {self._tasks()}, and before {were}")

    async def _started_again(self, seat: Seat) -> Member | None:
        await self._stop(seat)
        process = self.deployment.crew.start(seat)
        is_back = await within(_TAKE_OVER_S, lambda: process.member is not None and process.member.is_in)
        return process.member if is_back else None

    async def _stop(self, seat: Seat) -> None:
        for each in self.deployment.crew.running(seat.name):
            await each.process.stop()

    async def _assign_again(self) -> None:
        """Have the tasks assigned once more, with a config that the assignor ignores. Nothing moves."""
        were, epoch = self._tasks(), self._epoch
        self.world.cluster.alter_group_configs(GROUP, {_TAGS: "zone"})
        if not await within(_TAKE_OVER_S, lambda: self.deployment.is_calm and self._epoch > epoch):
            self._complain(f"a change of a config is not followed: {self.deployment.crew.members()}")
        elif self._tasks() != were:
            self._complain(f"the second assignment moved something: {self._tasks()}, and before {were}")

    @property
    def _epoch(self) -> int:
        return min((each.epoch for each in self.deployment.crew.members()), default=0)

    # ------------------------------------------------------------------------------------- changes

    async def _leave_and_return(self) -> None:
        """Let a dynamic member leave. The others share its tasks out, and it gets its share when it returns."""
        seat = next(each for each in self.deployment.crew.seats if each.instance is None)
        before = self._owners()
        await self._stop(seat)
        await self._expect_owners_within_rounds(f"{seat.name} left")
        self._expect_few_moves(before, f"{seat.name} left")
        left = self._owners()
        process = self.deployment.crew.start(seat)
        if not await within(_TAKE_OVER_S, lambda: process.member is not None and process.member.epoch > 0):
            self._complain(f"{seat.name} did not return")
        await self._expect_owners_within_rounds(f"{seat.name} returned")
        self._expect_few_moves(left, f"{seat.name} returned")

    async def _expect_owners_within_rounds(self, why: str) -> None:
        """Wait for three rounds of heartbeats. Then the members that are there must have all tasks."""
        if not await within(_ROUNDS * HEARTBEAT_S + _LATE_S, lambda: self.deployment.is_shared_out):
            problem = self.deployment.problem or "members are not in"
            self._complain(f"{why}, and {_ROUNDS} rounds later {problem}: {self.deployment.crew.members()}")

    def _owners(self) -> dict[str, str]:
        return {str(task): each.seat.name for each in self.deployment.crew.members() for task in each.active}

    def _expect_few_moves(self, before: dict[str, str], why: str) -> None:
        """At most as many tasks have moved as one of all members has."""
        after = self._owners()
        most = -(-len(after) // len(self.deployment.crew.seats))
        moved = [task for task, owner in after.items() if before.get(task, owner) != owner]
        if len(moved) > most:
            self._complain(f"{why}, and {len(moved)} tasks moved, not at most {most}: {before} to {after}")

    async def _grow_quietly(self) -> None:
        """Let a topic grow. The new task gets an owner."""
        await grow(self.world)
        await self._expect_owners_within_rounds("a topic grew")
        if not await within(_TAKE_OVER_S, lambda: self.deployment.is_calm):
            self._complain(f"not settled after a topic grew: {self.deployment.crew.members()}")

    async def _expect_state(self, state: str) -> None:
        """Ask for the state of the group."""
        link = link_to(self.world, GROUP, "reader")
        await link.find(0)
        [group] = (await link.ask(StreamsGroupDescribeRequest(group_ids=(GROUP,)), 1)).groups
        link.close()
        if group.group_state != state or len(group.members) != len(self.deployment.crew.seats):
            self._complain(f"the group is {group.group_state} with {len(group.members)} members")
