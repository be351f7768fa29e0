"""The processes of a streams application: which of them share a process id, and what happens to them."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence

from attrs import define

from kafka_groups.protocol.coordinator_records.streams_group import StreamsGroupMemberMetadata
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.crew import Act, Crew
from tests.simulation.groups.epochs import deployment
from tests.simulation.groups.epochs.deployment import INSTANCES, EpochDeployment
from tests.simulation.streams.member import Member, Seat
from tests.simulation.streams.topics import CHANGELOG, GROUP, STATEFUL, disturb_topics, tasks_of

__all__ = ["OWN_FAULTS", "StreamsDeploymentRules", "streams_deployment"]

OWN_FAULTS = (
    *deployment.OWN_FAULTS,
    "dynamic_restart",
    "stayed_away",
    "late_heartbeat",
    "changelog_deleted",
    "standbys_changed",
)
"""What strikes in addition to the faults of all simulations."""

_REPLICAS = "streams.num.standby.replicas"
_PROCESSES = ("left", "right", "left")
_DYNAMIC = (("ann", "left"), ("bob", "right"), ("eve", "alone"))
_SEATS = (
    *(Seat(name, name, process) for name, process in zip(INSTANCES, _PROCESSES, strict=True)),
    *(Seat(name, None, process) for name, process in _DYNAMIC),
)


def streams_deployment(world: SimulatedWorld) -> EpochDeployment[Seat, Member]:
    """The processes of a streams group."""
    return EpochDeployment(world, StreamsDeploymentRules(world))


@define(eq=False)
class StreamsDeploymentRules:
    """Loads are equal, and processes have standby tasks. Topics and configs change, and dynamic members restart.

    Attributes:
        replicas: How many standby tasks each stateful task is to have.
    """

    world: SimulatedWorld
    seats: Sequence[Seat] = _SEATS
    member_record: type = StreamsGroupMemberMetadata
    replicas: int = 0

    def new_member(self, seat: Seat) -> Member:
        """A member that heartbeats in one of the versions."""
        rng = random.Random(self.world.rng.random())
        return Member(seat, self.world, rng, version=1 if seat.instance else rng.choice((0, 1, 1)))

    def successor(self, member: Member) -> Seat:
        """The seat of the member: all members want the same."""
        return member.seat

    def problem(self, members: Sequence[Member]) -> str:
        """Each task must have one owner, loads must be equal, and standby tasks must be where they are of use."""
        owners = Counter(task for each in members for task in each.active)
        loads = [len(each.active) for each in members]
        if owners != Counter(tasks_of(self.world.cluster.metadata)):
            return "not every task has one owner"
        if max(loads) - min(loads) > 1:
            return f"the loads are {sorted(loads)}"
        return self._problem_of_standbys(members)

    def _problem_of_standbys(self, members: Sequence[Member]) -> str:
        processes = {each.seat.process for each in members}
        wanted = min(self.replicas, len(processes) - 1)
        for task in tasks_of(self.world.cluster.metadata):
            copies = [each.seat.process for each in members if task in each.active | each.standby]
            if len(set(copies)) < len(copies):
                return f"{task} is twice in a process: {copies}"
            if len(copies) != 1 + wanted * (task.subtopology_id == STATEFUL):
                return f"{task} is in {copies}, with {self.replicas} standby replicas"
        return ""

    # ------------------------------------------------------------------------------------------ what happens

    def acts(self, crew: Crew[Seat, Member]) -> Sequence[Act]:
        """Dynamic members restart, a topic grows and another one is deleted, and the number of standbys changes."""

        async def restart_dynamic() -> None:
            await self._restart_dynamic(crew)

        return restart_dynamic, restart_dynamic, self._grow, self._change_standbys, self._delete_changelog

    async def _restart_dynamic(self, crew: Crew[Seat, Member]) -> None:
        """Stop or kill a dynamic member. Another one starts a little later."""
        seat = crew.rng.choice([each for each in self.seats if each.instance is None])
        for each in crew.running(seat.name):
            if crew.rng.random() < 0.5:
                each.process.kill()
            else:
                await each.process.stop()
        self.world.struck["dynamic_restart"] += 1
        await asyncio.sleep(crew.rng.choice((0, 1, 8)))
        crew.start(seat)

    async def _grow(self) -> None:
        await disturb_topics(self.world)

    async def _delete_changelog(self) -> None:
        """Delete an internal topic. The coordinator creates it again."""
        if self.world.cluster.metadata.topic(CHANGELOG) is not None:
            self.world.struck["changelog_deleted"] += 1
            self.world.cluster.delete_topic(CHANGELOG)

    async def _change_standbys(self) -> None:
        """Change how many standby tasks there are."""
        self.replicas = self.world.rng.choice((0, 1, 2))
        self.world.struck["standbys_changed"] += 1
        self.world.cluster.alter_group_configs(GROUP, {_REPLICAS: str(self.replicas)})
