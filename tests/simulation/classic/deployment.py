"""What happens to the processes that consume: they are started again at bad moments, rolled and removed."""

import random

from attrs import define, evolve, field

from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.classic.member import GROUP, INSTANCES, Member, Phase, Seat
from tests.simulation.groups.coordination import remove_instance, within
from tests.simulation.groups.crew import Crew
from tests.simulation.groups.refusal import Refusal

__all__ = ["OWN_FAULTS", "Deployment"]

OWN_FAULTS = (
    "static_restart",
    "older_lives_on",
    "refused_restart",
    "rolled",
    "removed",
    "session_expired",
    "slow_rejoin",
    "older one fenced",
)
"""What strikes in addition to the faults of all simulations."""

_SEATS = (*(Seat(name, name) for name in INSTANCES), Seat("ann", None), Seat("bob", None))
_VERSIONS = (5, 6, 7, 8, 9, 9)
_OLD_VERSIONS = (0, 2, 3)
"""Versions of JoinGroup without instance ids, and without ids that new members are given first."""


@define(eq=False)
class Deployment:
    """All processes of a run, and what happens to them.

    Attributes:
        world: Where they live.
        crew: The processes.
        refusal: Refuses the record with the new id of a member.
    """

    world: SimulatedWorld
    crew: Crew[Seat, Member] = field(init=False)
    refusal: Refusal = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.refusal = Refusal(self.world, ClassicGroupMetadata, "refused_restart")
        self.crew = Crew(self.world, _SEATS, self._new_member)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    @property
    def is_calm(self) -> bool:
        """Whether each seat has one process, all in the same generation."""
        members = self.crew.members()
        is_in = {each.phase for each in members} == {Phase.IN} and len({each.generation for each in members}) == 1
        return self.crew.is_whole and is_in

    def _new_member(self, seat: Seat) -> Member:
        version = self.rng.choice(_VERSIONS if seat.instance else (*_VERSIONS, *_OLD_VERSIONS))
        return Member(seat, self.world, random.Random(self.rng.random()), version)

    # ---------------------------------------------------------------------------------------------- restarts

    async def disturb(self) -> None:
        """As long as faults strike, restart members at bad moments, roll them and remove them."""
        twice = (self._let_older_live_on, self._let_older_live_on)
        await self.crew.disturb((self.crew.restart, *twice, self._refuse_restart, self.crew.roll, self._remove))

    async def _let_older_live_on(self) -> None:
        """Start a static member once more, mostly while a request of the older one waits."""
        seat, patience_s = self.crew.static_seat(), self.rng.choice((0, 6))
        await within(patience_s, lambda: bool(self._waiting()))
        self.world.struck["older_lives_on"] += 1
        self.crew.start(self.rng.choice(self._waiting() or [seat]))

    async def _refuse_restart(self) -> None:
        """Start a static member once more, refuse the record with its new id, and let it give up."""
        self.refusal.is_due = True
        self.crew.start(evolve(self.crew.static_seat(), gives_up=True))
        await self.refusal.strike()

    async def _remove(self) -> None:
        await remove_instance(self.world, GROUP, self.crew.static_seat().instance or "")

    def _waiting(self) -> list[Seat]:
        phases = (Phase.JOINING, Phase.SYNCING)
        return [each.seat for each in self.crew.members() if each.seat.instance is not None and each.phase in phases]
