"""The processes that consume: each seat has one, and for a while after a restart two."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

from attrs import define, evolve, field

from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.processes import SimulatedProcess

__all__ = ["Act", "Crew", "CrewMember", "CrewSeat", "Running"]

_MISSING_S, _LOOK_S = 6.0, 2.0
_ACT_S = (2.0, 9.0)

Act = Callable[[], Awaitable[None]]
"""Something that happens to members or topics."""


class CrewSeat(Protocol):
    """A process in the deployment, whoever runs it now. An attrs class."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def instance(self) -> str | None:
        """Its instance id. None: its members are dynamic."""
        ...


class CrewMember(Protocol):
    """One life of a consumer."""

    def live(self) -> Coroutine[Any, Any, object]:
        """Consume until something ends it."""
        ...


S = TypeVar("S", bound=CrewSeat)
M = TypeVar("M", bound=CrewMember)


@define(eq=False)
class Running(Generic[S, M]):
    """A process of a seat, and its present life."""

    seat: S
    process: SimulatedProcess
    member: M | None = None


@define(eq=False)
class Crew(Generic[S, M]):
    """All processes of a run.

    Attributes:
        world: Where they live.
        seats: What is to run.
        new_member: Makes the next life of a seat.
        has_one_each: Whether older processes of a seat are stopped, too, once faults have ended.
    """

    world: SimulatedWorld
    seats: Sequence[S]
    new_member: Callable[[S], M]
    has_one_each: bool = False
    _all: list[Running[S, M]] = field(factory=list)
    _missing_since: dict[str, float] = field(factory=dict)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    def start_all(self) -> None:
        """Start a process for each seat."""
        for seat in self.seats:
            self.start(seat)

    def start(self, seat: S) -> Running[S, M]:
        """Start another process for a seat."""
        made: list[Running[S, M]] = []
        process = self.world.start(self._live, seat, made, name=f"{seat.name}-{len(self._all)}")
        made.append(Running(seat, process))
        self._all += made
        return made[0]

    def running(self, name: str) -> list[Running[S, M]]:
        """The running processes of a seat, the newest at the end."""
        return [each for each in self._all if each.seat.name == name and each.process.is_running]

    def members(self) -> list[M]:
        """The newest running member of each seat that has one."""
        newest = [self.running(seat.name)[-1:] for seat in self.seats]
        return [each.member for found in newest for each in found if each.member is not None]

    @property
    def is_whole(self) -> bool:
        """True if each seat has one process with a member."""
        return len(self.members()) == len(self.seats) and all(len(self.running(s.name)) == 1 for s in self.seats)

    def static_seat(self) -> S:
        """One of the seats whose members are static."""
        return self.rng.choice([seat for seat in self.seats if seat.instance is not None])

    async def restart(self) -> None:
        """Kill a static member, and start it again at once or a little later."""
        seat = self.static_seat()
        for each in self.running(seat.name):
            each.process.kill()
        await asyncio.sleep(self.rng.choice((0, 0.5, 3)))
        self.world.struck["static_restart"] += 1
        self.start(seat)

    async def disturb(self, acts: Sequence[Act]) -> None:
        """As long as faults strike, do one of these things every few seconds."""
        while self.world.is_faulty:
            await asyncio.sleep(self.rng.uniform(*_ACT_S))
            await self.rng.choice(acts)()

    async def stop(self, seat: S) -> None:
        """Stop the processes of a seat in good order."""
        for each in self.running(seat.name):
            await each.process.stop()

    async def roll(self) -> None:
        """Let a static member become dynamic, and static again later."""
        seat = self.static_seat()
        dynamic: S = evolve(cast("Any", seat), instance=None)
        for each in (dynamic, seat):
            await self.stop(seat)
            self.world.struck["rolled"] += 1
            self.start(each)
            await asyncio.sleep(self.rng.uniform(1, 12))

    async def supervise(self) -> None:
        """Start seats again that nobody runs any more, as long as the run takes."""
        try:
            while True:
                await asyncio.sleep(_LOOK_S)
                for seat in self.seats:
                    await self._look_after(seat)
        except Exception as error:  # without this, the group would only never settle
            self.world.violations.append(f"nobody supervises the processes any more: {error!r}")
            raise

    async def _look_after(self, seat: S) -> None:
        await self._end_unwanted(seat)
        if self.running(seat.name):
            self._missing_since.pop(seat.name, None)
        elif self._is_missing(seat.name):
            self.world.struck["static_restart"] += seat.instance is not None
            self.start(seat)

    async def _end_unwanted(self, seat: S) -> None:
        for each in self.running(seat.name):
            # While another one was stopped, this one may have ended.
            if each.process.is_running and not self.world.is_faulty and self._is_unwanted(each):
                await each.process.stop()

    def _is_unwanted(self, running: Running[S, M]) -> bool:
        """Return whether a supervisor started a rolled seat again, or whether its seat has a newer process."""
        static = [seat.name for seat in self.seats if seat.instance is not None]
        is_rolled = running.seat.instance is None and running.seat.name in static
        return is_rolled or (self.has_one_each and running is not self.running(running.seat.name)[-1])

    def _is_missing(self, name: str) -> bool:
        now_s = asyncio.get_running_loop().time()
        return now_s - self._missing_since.setdefault(name, now_s) >= _MISSING_S

    async def _live(self, seat: S, made: list[Running[S, M]]) -> None:
        made[0].member = self.new_member(seat)
        await made[0].member.live()
