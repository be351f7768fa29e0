"""A run of transactions: after each step both sides must have given the same answer."""

import asyncio
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from tests.lockstep.differences import Difference
from tests.lockstep.running import Outcome, Source
from tests.lockstep.side import Sides
from tests.lockstep.transaction_steps import GROUP, TOPICS, Describe, TransactionSide, TransactionStep
from tests.support.conditions import until
from tests.support.members.raw_producer import RawProducer

IDS = ("x", "y")
"""The transactional ids of a run."""
_PATIENCE_S, _PAUSE_S = 3.0, 0.02


@define(eq=False)
class TransactionRun:
    """One run on two clusters."""

    sides: Sides
    done: list[Any] = field(factory=list)
    _both: tuple[TransactionSide, TransactionSide] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._both = (TransactionSide(self.sides.embedded), TransactionSide(self.sides.real))

    async def through(self, source: Source) -> Outcome:
        """Do what the source says."""
        for each in self._both:
            await _prepare(each)
        while (step := source.next(self.sides.embedded)) is not None:
            self.done.append(step)
            found = await self._take(step)  # type: ignore[arg-type]
            if found:
                return Outcome(tuple(self.done), tuple(found))
        return Outcome(tuple(self.done))

    async def _take(self, step: TransactionStep) -> list[Difference]:
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            embedded, real = [await step.take(each) for each in self._both]
            found = _differences(step, real, embedded)
            if not found or not step.is_question or asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(_PAUSE_S)
        return found or await self._ended()

    async def _ended(self) -> list[Difference]:
        """Wait until no partition waits for its marker, which takes as long as it takes.

        A marker that is refused, because an administrator has written a newer one, is waited for without end.
        """
        for name in IDS:
            embedded, real = [await _until_ended(each, Describe(txn=name)) for each in self._both]
            if embedded != real:
                return _differences(Describe(txn=name), real, embedded)
        return []


async def _prepare(side: TransactionSide) -> None:
    """Topics, and coordinators that have been found."""
    for name in TOPICS:
        side.topics[name] = await side.side.cluster.create_topic(2, name=side.named(name))
    await side.side.cluster.coordinator_of(side.named(GROUP))
    for name in IDS:
        await RawProducer(side.side.client("admin"), side.named(name)).find()
        await until(lambda name=name: Describe(txn=name).take(side), lambda it: it[0] == "TRANSACTIONAL_ID_NOT_FOUND")  # type: ignore[misc]


async def _until_ended(side: TransactionSide, describe: Describe) -> Any:
    deadline = asyncio.get_running_loop().time() + _PATIENCE_S
    while (found := await describe.take(side))[1].startswith("Prepare"):
        if asyncio.get_running_loop().time() > deadline:
            break
        await asyncio.sleep(_PAUSE_S)
    return found


def _differences(step: TransactionStep, real: Any, embedded: Any) -> list[Difference]:
    kind = type(step).__name__
    if isinstance(real, Mapping) and isinstance(embedded, Mapping):
        return [
            Difference(f"{kind}.{key}", real.get(key), embedded.get(key))
            for key in sorted({*map(str, real), *map(str, embedded)})
            if real.get(key) != embedded.get(key)
        ] or ([] if real == embedded else [Difference(kind, real, embedded)])
    return [] if real == embedded else [Difference(kind, real, embedded)]
