"""Changes that a streams group must take well: another assignment, a member that leaves, a topic that grows."""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.coordination import within
from tests.simulation.groups.crew import Act
from tests.simulation.groups.epochs.deployment import EpochDeployment
from tests.simulation.groups.epochs.settled_groups import TAKE_OVER_S
from tests.simulation.streams.member import Member, Seat
from tests.simulation.streams.topics import GROUP, Tasks, grow

__all__ = ["HEARTBEAT_S", "StreamsChanges"]

HEARTBEAT_S = 2
_ROUNDS = 3
_LATE_S = 2.0
"""The assignment interval, and the time that programs take to close tasks."""
_TAGS = "streams.rack.aware.assignment.tags"

_ByRole = tuple[Tasks, Tasks]


@frozen
class StreamsChanges:
    """Changes of the group, and what must follow.

    Attributes:
        world: Where the members live.
        deployment: Their processes.
    """

    world: SimulatedWorld
    deployment: EpochDeployment[Seat, Member]

    def in_order(self) -> Sequence[Act]:
        """Return all of them."""
        return self._assign_again, self._leave_and_return, self._grow_quietly

    def _complain(self, text: str) -> None:
        self.world.violations.append(text)

    def _tasks(self) -> dict[str, _ByRole]:
        return {each.seat.name: (each.active, each.standby) for each in self.deployment.crew.members()}

    async def _assign_again(self) -> None:
        """Have the tasks assigned once more, with a config that the assignor ignores. Nothing moves."""
        were, epoch = self._tasks(), self._epoch
        self.world.cluster.alter_group_configs(GROUP, {_TAGS: "zone"})
        if not await within(TAKE_OVER_S, lambda: self.deployment.is_calm and self._epoch > epoch):
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
        await self.deployment.crew.stop(seat)
        await self._expect_owners_within_rounds(f"{seat.name} left")
        self._expect_few_moves(before, f"{seat.name} left")
        left = self._owners()
        process = self.deployment.crew.start(seat)
        if not await within(TAKE_OVER_S, lambda: process.member is not None and process.member.epoch > 0):
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
        if not await within(TAKE_OVER_S, lambda: self.deployment.is_calm):
            self._complain(f"not settled after a topic grew: {self.deployment.crew.members()}")
