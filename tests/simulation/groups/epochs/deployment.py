"""The processes of a group, whose static members are started again at bad moments, rolled and overtaken."""

import asyncio
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from attrs import define, field

from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.crew import Act, Crew, CrewMember, CrewSeat
from tests.simulation.groups.refusal import Refusal
from tests.simulation.groups.timing import SESSION_S

__all__ = ["INSTANCES", "OWN_FAULTS", "DeploymentRules", "EpochDeployment", "EpochMember"]

OWN_FAULTS = (
    "static_restart",
    "older_lives_on",
    "overtaken",
    "refused_join",
    "rolled",
    "session_expired",
    "slow_revocation",
    "late_commit",
    "topic_grown",
    "unreleased instance",
    "older one fenced",
)
"""Faults of groups with epochs, in addition to those of all simulations."""

INSTANCES = ("one", "two", "three")
_PAUSED_S = (1.0, 20.0)


class EpochMember(CrewMember, Protocol):
    """One life of a member with an epoch."""

    @property
    def seat(self) -> CrewSeat:
        """Its seat."""
        ...

    @property
    def epoch(self) -> int:
        """Its epoch."""
        ...

    @property
    def owned(self) -> object:
        """The partitions or tasks that it owns, to be compared for equality."""
        ...

    @property
    def is_in(self) -> bool:
        """True if it is a member, and owns what it was told to."""
        ...

    def stand_still(self, seconds: float) -> None:
        """Do nothing for so long, as a process does that the operating system has stopped."""
        ...


S = TypeVar("S", bound=CrewSeat)
M = TypeVar("M", bound=EpochMember)


class DeploymentRules(Protocol[S, M]):
    """The processes of one type of group, and what happens to no other type."""

    @property
    def seats(self) -> Sequence[S]:
        """The seats, static and dynamic ones."""
        ...

    @property
    def member_record(self) -> type:
        """The record that a coordinator writes of a new member."""
        ...

    def new_member(self, seat: S) -> M:
        """Return a new member for a seat."""
        ...

    def successor(self, member: M) -> S:
        """Return a seat for a process that continues with the same wishes as a member."""
        ...

    def problem(self, members: Sequence[M]) -> str:
        """Return a text that says what is wrong with what the members own; empty if nothing is."""
        ...

    def acts(self, crew: Crew[S, M]) -> Sequence[Act]:
        """Return what else happens while faults strike."""
        ...


@define(eq=False)
class EpochDeployment(Generic[S, M]):
    """All processes of a run, and what happens to them.

    Attributes:
        world: Where they live.
        rules: Those of the type of group.
        crew: The processes.
        refusal: Refuses the record of a new member.
    """

    world: SimulatedWorld
    rules: DeploymentRules[S, M]
    crew: Crew[S, M] = field(init=False)
    refusal: Refusal = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.refusal = Refusal(self.world, self.rules.member_record, "refused_join")
        self.crew = Crew(self.world, self.rules.seats, self.rules.new_member, has_one_each=True)

    @property
    def is_calm(self) -> bool:
        """True if each seat has one process, and the members share everything out, in one epoch."""
        is_one = len({each.epoch for each in self.crew.members()}) == 1
        return self.crew.is_whole and is_one and self.is_shared_out

    @property
    def is_shared_out(self) -> bool:
        """True if the members that are there share everything out."""
        return all(each.is_in for each in self.crew.members()) and not self.problem

    @property
    def problem(self) -> str:
        """A text that says what is wrong with what the members own; empty if nothing is."""
        return self.rules.problem(self.crew.members())

    async def disturb(self) -> None:
        """As long as faults strike, restart members at bad moments, roll them, and do what the rules say."""
        acts = (self.crew.restart, self._let_older_live_on, self._refuse_join, self.crew.roll, self._overtake)
        await self.crew.disturb((*acts, *self.rules.acts(self.crew)))

    async def _let_older_live_on(self) -> None:
        """Start a static member once more, and end either of the two after a while."""
        seat = self.crew.static_seat()
        self.world.struck["older_lives_on"] += 1
        self.crew.start(seat)
        await asyncio.sleep(self.crew.rng.uniform(*_PAUSED_S))
        both = self.crew.running(seat.name)
        if len(both) > 1:
            await self.crew.rng.choice(both).process.stop()

    async def _overtake(self) -> None:
        """Let a static member stand still until its session has ended and another process has taken its place."""
        seat = self.crew.static_seat()
        for each in self.crew.running(seat.name):
            if each.member is not None:
                each.member.stand_still(SESSION_S * self.crew.rng.uniform(1.3, 1.9))
        self.world.struck["overtaken"] += 1
        self.crew.start(seat)

    async def _refuse_join(self) -> None:
        """Stop a static member in good order and start another one, and refuse the record with its new id."""
        self.refusal.is_due = True
        seat = self.crew.static_seat()
        await self.crew.stop(seat)
        self.world.struck["static_restart"] += 1
        self.crew.start(seat)
        await self.refusal.strike()
