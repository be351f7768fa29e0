"""What happens to the processes of a streams application: they are started again at bad moments, rolled and removed."""

import asyncio
import random
from collections import Counter

from attrs import define, evolve, field

from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupMemberMetadata
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.crew import Crew, Running
from tests.simulation.groups.refusal import Refusal
from tests.simulation.groups.timing import SESSION_S
from tests.simulation.streams.member import Member, Seat
from tests.simulation.streams.topics import CHANGELOG, GROUP, STATEFUL, disturb_topics, tasks_of

__all__ = ["OWN_FAULTS", "Deployment"]

OWN_FAULTS = (
    "static_restart",
    "dynamic_restart",
    "older_lives_on",
    "overtaken",
    "refused_join",
    "rolled",
    "session_expired",
    "slow_revocation",
    "stayed_away",
    "late_commit",
    "late_heartbeat",
    "topic_grown",
    "changelog_deleted",
    "standbys_changed",
    "unreleased instance",
    "older one fenced",
)
"""What strikes in addition to the faults of all simulations."""

_REPLICAS = "streams.num.standby.replicas"
_INSTANCES = ("one", "two", "three")
_PROCESSES = ("left", "right", "left")
_DYNAMIC = (("ann", "left"), ("bob", "right"), ("eve", "alone"))
_SEATS = (
    *(Seat(name, name, process) for name, process in zip(_INSTANCES, _PROCESSES, strict=True)),
    *(Seat(name, None, process) for name, process in _DYNAMIC),
)
_ACT_S = (2.0, 9.0)
_PAUSED_S = (1.0, 20.0)


@define(eq=False)
class Deployment:
    """All processes of a run, and what happens to them.

    Attributes:
        world: Where they live.
        replicas: How many standby tasks each stateful task is to have.
        crew: The processes.
        refusal: Refuses the record of a new member.
    """

    world: SimulatedWorld
    replicas: int = 0
    crew: Crew[Seat, Member] = field(init=False)
    refusal: Refusal = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.refusal = Refusal(self.world, StreamsGroupMemberMetadata, "refused_join")
        self.crew = Crew(self.world, _SEATS, self._new_member, self._is_unwanted)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    @property
    def is_calm(self) -> bool:
        """Whether each seat has one process, and their members have all tasks, in one epoch."""
        is_one = len({each.epoch for each in self.crew.members()}) == 1
        return self.crew.is_whole and is_one and self.is_shared_out

    @property
    def is_shared_out(self) -> bool:
        """Whether the members that are there have all tasks."""
        return all(each.is_in for each in self.crew.members()) and not self.problem

    @property
    def problem(self) -> str:
        """What is wrong with the tasks that the members have; empty if nothing is."""
        members = self.crew.members()
        owners = Counter(task for each in members for task in each.active)
        loads = [len(each.active) for each in members]
        if owners != Counter(tasks_of(self.world.cluster.metadata)):
            return "not every task has one owner"
        if max(loads) - min(loads) > 1:
            return f"the loads are {sorted(loads)}"
        return self._problem_of_standbys(members)

    def _problem_of_standbys(self, members: list[Member]) -> str:
        processes = {each.seat.process for each in members}
        wanted = min(self.replicas, len(processes) - 1)
        for task in tasks_of(self.world.cluster.metadata):
            copies = [each.seat.process for each in members if task in each.active | each.standby]
            if len(set(copies)) < len(copies):
                return f"{task} is twice in a process: {copies}"
            if len(copies) != 1 + wanted * (task.subtopology_id == STATEFUL):
                return f"{task} is in {copies}, with {self.replicas} standby replicas"
        return ""

    def _new_member(self, seat: Seat) -> Member:
        rng = random.Random(self.rng.random())
        return Member(seat, self.world, rng, version=1 if seat.instance else rng.choice((0, 1, 1)))

    def _is_unwanted(self, running: Running[Seat, Member]) -> bool:
        """Whether a process was rolled and started again by a supervisor, or runs beside a newer one of its seat."""
        is_rolled = running.seat.name in _INSTANCES and running.seat.instance is None
        return is_rolled or running is not self.crew.running(running.seat.name)[-1]

    # ---------------------------------------------------------------------------------------------- restarts

    async def disturb(self) -> None:
        """As long as faults strike, restart members at bad moments and roll them; topics and configs change."""
        acts = (
            *(self.crew.restart, self._let_older_live_on, self._refuse_join, self._roll, self._overtake),
            *(self._restart_dynamic, self._restart_dynamic, self._grow, self._change_standbys, self._delete_changelog),
        )
        while self.world.is_faulty:
            await asyncio.sleep(self.rng.uniform(*_ACT_S))
            await self.rng.choice(acts)()

    async def _restart_dynamic(self) -> None:
        """Stop or kill a dynamic member. Another one starts a little later."""
        seat = self.rng.choice([each for each in _SEATS if each.instance is None])
        for each in self.crew.running(seat.name):
            if self.rng.random() < 0.5:
                each.process.kill()
            else:
                await each.process.stop()
        self.world.struck["dynamic_restart"] += 1
        await asyncio.sleep(self.rng.choice((0, 1, 8)))
        self.crew.start(seat)

    async def _let_older_live_on(self) -> None:
        """Start a static member once more, and end either of the two after a while."""
        seat = self.crew.static_seat()
        self.world.struck["older_lives_on"] += 1
        self.crew.start(seat)
        await asyncio.sleep(self.rng.uniform(*_PAUSED_S))
        both = self.crew.running(seat.name)
        if len(both) > 1:
            await self.rng.choice(both).process.stop()

    async def _overtake(self) -> None:
        """Let a static member stand still until its session has ended and another process has taken its place."""
        seat = self.crew.static_seat()
        for each in self.crew.running(seat.name):
            if each.member is not None:
                each.member.stand_still(SESSION_S * self.rng.uniform(1.3, 1.9))
        self.world.struck["overtaken"] += 1
        self.crew.start(seat)

    async def _replace(self) -> None:
        """Stop a static member in good order and start another one, so that nothing moves."""
        seat = self.crew.static_seat()
        for each in self.crew.running(seat.name):
            await each.process.stop()
        self.world.struck["static_restart"] += 1
        self.crew.start(seat)

    async def _refuse_join(self) -> None:
        """Start a member once more, and refuse the record with its new id."""
        self.refusal.is_due = True
        await self._replace()
        await self.refusal.strike()

    async def _roll(self) -> None:
        """Let a static member become dynamic, and static again later."""
        await self.crew.roll(lambda seat: evolve(seat, instance=None))

    async def _grow(self) -> None:
        await disturb_topics(self.world)

    async def _delete_changelog(self) -> None:
        """Delete an internal topic. The coordinator creates it again."""
        if self.world.cluster.metadata.topic(CHANGELOG) is not None:
            self.world.struck["changelog_deleted"] += 1
            self.world.cluster.delete_topic(CHANGELOG)

    async def _change_standbys(self) -> None:
        """Change how many standby tasks there are."""
        self.replicas = self.rng.choice((0, 1, 2))
        self.world.struck["standbys_changed"] += 1
        self.world.cluster.alter_group_configs(GROUP, {_REPLICAS: str(self.replicas)})
