"""A run: both clusters get the same steps, until a difference or the end."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs
from attrs import define, field, frozen

from tests.lockstep.answers import fields_of
from tests.lockstep.differences import Difference, allowance, differences
from tests.lockstep.settling import settle
from tests.lockstep.side import Side, Sides
from tests.lockstep.steps import Fetch, Step, take

PATIENCE_MS = 3_000
_PAUSE_S = 0.01


@frozen
class Outcome:
    """How a run ended.

    Attributes:
        steps: What was done, the step that made the difference at the end.
        found: The differences of the last step; none if all was the same.
        allowed: Names of the allowed differences that were met.
    """

    steps: tuple[Step, ...]
    found: tuple[Difference, ...] = ()
    allowed: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether both clusters answered the same."""
        return not self.found

    @property
    def kind(self) -> frozenset[str]:
        """The fields that differ, whichever elements of lists they are in."""
        return frozenset(re.sub(r"\[[^]]*\]", "[]", each.path) for each in self.found)


class Source:
    """Where steps come from: told of every answer, so that it can choose with them in mind."""

    def next(self, side: Side) -> Step | None:
        """The next step, or None at the end; the side tells the epochs counted so far."""
        raise NotImplementedError

    def answered(self, step: Step, response: Any) -> None:
        """Both clusters have answered the same."""


TakeSteps = Callable[[Source], Awaitable[Outcome]]
"""Takes the steps of a source on both clusters, such as `Pair.run`."""


@define(eq=False)
class Replay(Source):
    """The steps of a list."""

    steps: Sequence[Step]
    _at: int = 0

    def next(self, side: Side) -> Step | None:
        """The next one of the list."""
        self._at += 1
        return self.steps[self._at - 1] if self._at <= len(self.steps) else None


@define(eq=False)
class Run:
    """One run on two clusters that have its topics and group already."""

    sides: Sides
    done: list[Step] = field(factory=list)
    allowed: list[str] = field(factory=list)

    async def through(self, source: Source) -> Outcome:
        """Do what the source says."""
        while (step := source.next(self.sides.embedded)) is not None:
            self.done.append(step)
            response, found = await self._take(step)
            if not found:
                found = await settle(self.sides, step, response)
            entries = allowance(self.done, found)
            if entries is None:
                return Outcome(tuple(self.done), tuple(found), tuple(self.allowed))
            self.allowed.extend(entry.name for entry in entries)
            if any(entry.parts_ways for entry in entries):
                break
            source.answered(step, response)
        return Outcome(tuple(self.done), (), tuple(self.allowed))

    async def _take(self, step: Step) -> tuple[Any, list[Difference]]:
        deadline = asyncio.get_running_loop().time() + PATIENCE_MS / 1000
        while True:
            embedded, real = await self._ask(step)
            found = differences(fields_of(real, self.sides.real), fields_of(embedded, self.sides.embedded))
            if not (found and step.is_question) or asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(_PAUSE_S)
        return embedded, found

    async def _ask(self, step: Step) -> tuple[Any, Any]:
        embedded = await take(self.sides.embedded, step)
        return embedded, await take(self.sides.real, _patient(step, embedded))


def _patient(step: Step, embedded: Any) -> Step:
    """Where the embedded broker had records at once, a real Kafka may need to load the share-partition first."""
    if not isinstance(step, Fetch) or not any(p.acquired_records for t in embedded.responses for p in t.partitions):
        return step
    return attrs.evolve(step, limits=attrs.evolve(step.limits, max_wait_ms=PATIENCE_MS))
