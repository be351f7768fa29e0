"""What happens to the processes that consume: they are started again at bad moments, rolled and removed."""

import asyncio
import random

from attrs import define, evolve, field

from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupMemberMetadata
from kafka_groups.protocol.messages.consumer_group_heartbeat import FIRST_WITH_REGEX
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.types import member_id_of, random_uuid
from tests.simulation.consumer.member import Member
from tests.simulation.consumer.membership import GROUP, Membership, Partitions, Seat
from tests.simulation.consumer.topics import common_assignor, disturb_topics, partitions_of, subscription
from tests.simulation.groups.coordination import remove_instance
from tests.simulation.groups.crew import Crew, Running
from tests.simulation.groups.refusal import Refusal
from tests.simulation.groups.timing import SESSION_S

__all__ = ["OWN_FAULTS", "Deployment"]

OWN_FAULTS = (
    "static_restart",
    "older_lives_on",
    "overtaken",
    "refused_join",
    "rolled",
    "removed",
    "session_expired",
    "slow_revocation",
    "left_for_a_while",
    "other_subscription",
    "late_commit",
    "topic_created",
    "topic_grown",
    "unreleased instance",
    "older one fenced",
)
"""What strikes in addition to the faults of all simulations."""

_INSTANCES = ("one", "two", "three")
_SEATS = (*(Seat(name, name) for name in _INSTANCES), Seat("ann", None), Seat("bob", None), Seat("eve", None))
_ACT_S = (2.0, 9.0)
_PAUSED_S = (1.0, 20.0)


@define(eq=False)
class Deployment:
    """All processes of a run, and what happens to them.

    Attributes:
        world: Where they live.
        crew: The processes.
        refusal: Refuses the record of a new member.
    """

    world: SimulatedWorld
    crew: Crew[Seat, Member] = field(init=False)
    refusal: Refusal = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.refusal = Refusal(self.world, ConsumerGroupMemberMetadata, "refused_join")
        self.crew = Crew(self.world, _SEATS, self._new_member, self._is_unwanted)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    @property
    def is_calm(self) -> bool:
        """Whether each seat has one process, and their members own each subscribed partition once, in one epoch."""
        members = self.crew.members()
        is_one = len({each.membership.epoch for each in members}) == 1
        if not (self.crew.is_whole and is_one and all(each.is_in for each in members)):
            return False
        owned = [place for each in members for place in each.membership.owned]
        return len(set(owned)) == len(owned) and set(owned) == self.subscribed()

    def subscribed(self) -> Partitions:
        """All partitions that are to have an owner."""
        names = {name for each in self.crew.members() for name in each.membership.subscription.names}
        return partitions_of(self.world.cluster.metadata, names)

    def _new_member(self, seat: Seat) -> Member:
        rng = random.Random(self.rng.random())
        wanted = seat.subscription or subscription(rng, common_assignor(self.world.seed) if seat.instance else None)
        membership = Membership(member_id_of(random_uuid(rng)), seat.instance, wanted)
        version = FIRST_WITH_REGEX if wanted.regex is not None else rng.choice((0, FIRST_WITH_REGEX))
        return Member(seat, self.world, rng, membership, version, with_ids=rng.random() < 0.5)

    def _is_unwanted(self, running: Running[Seat, Member]) -> bool:
        """Whether a process was rolled and started again by a supervisor, or runs beside a newer one of its seat."""
        is_rolled = running.seat.name in _INSTANCES and running.seat.instance is None
        return is_rolled or running is not self.crew.running(running.seat.name)[-1]

    # ---------------------------------------------------------------------------------------------- restarts

    async def disturb(self) -> None:
        """As long as faults strike, restart members at bad moments, roll them and remove them; topics grow."""
        acts = (self.crew.restart, self._let_older_live_on, self._refuse_join, self._roll, self._overtake, self._grow)
        while self.world.is_faulty:
            await asyncio.sleep(self.rng.uniform(*_ACT_S))
            await self.rng.choice((*acts, self._remove))()

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

    async def _remove(self) -> None:
        await remove_instance(self.world, GROUP, self.crew.static_seat().instance or "")

    async def _grow(self) -> None:
        await disturb_topics(self.world)
