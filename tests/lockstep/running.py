"""A run: both clusters get the same steps, until a difference or the end."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import not_
from typing import Any, Protocol

import attrs
from attrs import define, field, frozen

from tests.lockstep.answers import fields_of
from tests.lockstep.differences import Allowed, Difference, allowance, differences
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


Taken = tuple[Any, list[Difference]]
"""The embedded broker's response to a step, and what differs."""


class Taking(Protocol):
    """Takes the steps of a run, and says what may differ."""

    done: list[Step]
    """All steps so far, the one that is being taken at the end."""

    def is_left_out(self, step: Step) -> bool:
        """Return whether to skip a step, because it is not known what Kafka makes of it."""
        ...

    async def take(self, step: Step) -> Taken:
        """Take a step on both sides, and wait for what follows from it."""
        ...

    def allowed(self, found: Sequence[Difference]) -> list[Allowed] | None:
        """Return the entries that allow what differs after the last step, or None if something is not allowed."""
        ...


async def run_through(source: Source, side: Side, taking: Taking) -> Outcome:
    """Do what the source says, until a difference that is not allowed, or the end."""
    met: list[str] = []
    while (step := source.next(side)) is not None:
        if taking.is_left_out(step):
            continue
        taking.done.append(step)
        response, found = await taking.take(step)
        entries = taking.allowed(found)
        if entries is None:
            return Outcome(tuple(taking.done), tuple(found), tuple(met))
        met.extend(entry.name for entry in entries)
        if any(entry.parts_ways for entry in entries):
            break
        source.answered(step, response)
    return Outcome(tuple(taking.done), (), tuple(met))


async def asked_patiently(
    step: Step, ask: Callable[[], Awaitable[Taken]], is_fine: Callable[[list[Difference]], bool], patience_s: float
) -> Taken:
    """Take a step; a question again and again, until what differs is fine or patience is at its end."""
    deadline = asyncio.get_running_loop().time() + patience_s
    while True:
        embedded, found = await ask()
        if is_fine(found) or not step.is_question or asyncio.get_running_loop().time() > deadline:
            return embedded, found
        await asyncio.sleep(_PAUSE_S)


def compared(sides: Sides, real: Any, embedded: Any) -> list[Difference]:
    """Return what differs between two responses."""
    return differences(fields_of(real, sides.real), fields_of(embedded, sides.embedded))


@define(eq=False)
class Run:
    """One run on two clusters that have its topics and group already."""

    sides: Sides
    done: list[Step] = field(factory=list)

    async def through(self, source: Source) -> Outcome:
        """Do what the source says."""
        return await run_through(source, self.sides.embedded, self)

    def is_left_out(self, _step: Step) -> bool:
        """All steps are taken."""
        return False

    async def take(self, step: Step) -> Taken:
        """Take a step, and wait until both sides are settled."""
        response, found = await asked_patiently(step, partial(self._ask, step), not_, PATIENCE_MS / 1000)
        return response, found or await settle(self.sides, step, response)

    def allowed(self, found: Sequence[Difference]) -> list[Allowed] | None:
        """Return the entries of the list of differences."""
        return allowance(self.done, found)

    async def _ask(self, step: Step) -> Taken:
        embedded = await take(self.sides.embedded, step)
        real = await take(self.sides.real, _patient(step, embedded))
        return embedded, compared(self.sides, real, embedded)


def _patient(step: Step, embedded: Any) -> Step:
    """Where the embedded broker had records at once, a real Kafka may need to load the share-partition first."""
    if not isinstance(step, Fetch) or not any(p.acquired_records for t in embedded.responses for p in t.partitions):
        return step
    return attrs.evolve(step, limits=attrs.evolve(step.limits, max_wait_ms=PATIENCE_MS))
