"""A run of a classic group: after each step, both sides must have answered the same requests with the same fields."""

import asyncio

from attrs import define, field

from tests.lockstep.classic_conversation import Conversation
from tests.lockstep.classic_differences import never_answered, undetermined
from tests.lockstep.differences import Difference, differences
from tests.lockstep.running import Outcome, Source
from tests.lockstep.side import Sides
from tests.lockstep.steps import Step

_PATIENCE_S = 3.0
_PAUSE_S = 0.01
_LOOKS = 3
_WITHOUT_MEMBERS = ("Empty", "Dead")


@define(eq=False)
class ClassicRun:
    """One run on two clusters that have its topics already."""

    sides: Sides
    done: list[Step] = field(factory=list)
    _embedded: Conversation = field(init=False)
    _real: Conversation = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._embedded, self._real = Conversation(self.sides.embedded), Conversation(self.sides.real)

    async def through(self, source: Source) -> Outcome:
        """Do what the source says, but for steps after which Kafka chooses at random."""
        try:
            return await self._through(source)
        finally:
            for each in (self._embedded, self._real):
                await each.close()

    async def _through(self, source: Source) -> Outcome:
        await self._compare()
        while (step := source.next(self.sides.embedded)) is not None:
            if undetermined(step, self._embedded):
                continue
            self.done.append(step)
            found = await self._take(step)
            if found:
                return Outcome(tuple(self.done), tuple(found))
            self._accept(source)
        return Outcome(tuple(self.done))

    async def _take(self, step: Step) -> list[Difference]:
        """Send the request to both sides, and wait until they look the same; what differs even then."""
        was_empty = self._state() in _WITHOUT_MEMBERS
        for each in (self._embedded, self._real):
            for asked in never_answered(step, each):
                await each.give_up(asked)
            each.send(step)
        deadline, alike = asyncio.get_running_loop().time() + _PATIENCE_S, 0
        while True:
            found = await self._compare()
            is_starting = was_empty and self._state() == "PreparingRebalance"  # the first round ends by itself
            alike = 0 if found or is_starting else alike + 1
            if alike >= (_LOOKS if self._embedded.waiting else 1):
                return []
            if asyncio.get_running_loop().time() > deadline:
                return found
            await asyncio.sleep(_PAUSE_S)

    async def _compare(self) -> list[Difference]:
        embedded = await self._embedded.look()
        return differences(await self._real.look(), embedded)

    def _accept(self, source: Source) -> None:
        self._real.accept()
        for step, response in self._embedded.accept():
            source.answered(step, response)

    def _state(self) -> str:
        return str(self._embedded.described.group_state)
