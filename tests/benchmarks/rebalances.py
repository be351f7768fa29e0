"""How long a streams group takes to share its tasks when an instance joins, and to take them over when one leaves."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Final, Protocol

from attrs import field, frozen

from tests.benchmarks.measures import Say
from tests.support.kafka.real_kafka import unique

__all__ = ["JOIN", "LEAVE", "MEASURES", "TASKS", "Instance", "InstanceRunner", "Rhythm", "RunTimes", "measured"]

TASKS: Final = 8
JOIN, LEAVE = "join to balanced", "leave to owned again"
MEASURES: Final = (JOIN, LEAVE)
"""From the join of a second instance until both run half of the tasks; from its leaving until the first runs all."""
_LOOK_EVERY_S: Final = 0.05  # the times do not depend on it: contenders note them
_PATIENCE_S: Final = 60.0


@frozen
class Instance:
    """An instance of an application. Times are seconds of the machine's monotonic clock.

    Attributes:
        began_s: When it began to join.
        left_s: When it began to leave, or None.
        changed_s: When a task last began to run or was given up.
        running: Since when each of its tasks runs.
    """

    began_s: float
    left_s: float | None
    changed_s: float
    running: Mapping[str, float]

    @property
    def latest_s(self) -> float:
        """When the last of its tasks began to run."""
        return max(self.running.values())


class InstanceRunner(Protocol):
    """Runs instances of applications."""

    @property
    def name(self) -> str:
        """What it is called in tables."""

    async def prepare(self, name: str) -> None:
        """Make everything ready for an instance."""

    async def open(self, group_id: str, name: str) -> None:
        """Start an instance that is prepared. Does not wait until it has joined."""

    async def leave(self, name: str) -> None:
        """Have an instance leave its group. Does not wait until it has left."""

    async def instance(self, name: str) -> Instance:
        """What an instance does."""

    async def end(self, name: str) -> None:
        """Forget an instance that has left."""


@frozen
class Rhythm:
    """When members join and leave: after a rest, at a random time of the others' heartbeat interval.

    Attributes:
        rest_s: How long a group that is balanced is left alone, so that nothing is left of what it has done.
        interval_s: The heartbeat interval.
    """

    rest_s: float
    interval_s: float

    def phases(self, count: int, rng: random.Random) -> list[float]:
        """So many times after a heartbeat, in random order, one in each equal part of the heartbeat interval."""
        phases = [self.interval_s * (part + rng.random()) / count for part in range(count)]
        rng.shuffle(phases)
        return phases

    async def wait(self, heartbeat_s: float, phase_s: float) -> None:
        """Wait for a time that is this long after a heartbeat. One of them was at the time that is given."""
        now_s = asyncio.get_running_loop().time()
        await asyncio.sleep(self.rest_s + (heartbeat_s + phase_s - now_s - self.rest_s) % self.interval_s)


@frozen
class RunTimes:
    """What one contender took.

    Attributes:
        seconds: The seconds of each run, by what was measured.
    """

    seconds: Mapping[str, list[float]] = field(factory=lambda: {measure: [] for measure in MEASURES})

    def quartiles(self, measure: str) -> tuple[float, float, float]:
        """The lower quartile, the median and the upper quartile."""
        seconds = self.seconds[measure]
        if len(seconds) == 1:
            return seconds[0], seconds[0], seconds[0]
        lower, middle, upper = quantiles(seconds, n=4, method="inclusive")
        return lower, middle, upper


async def measured(
    contenders: Sequence[InstanceRunner], runs: int, lanes: int, rhythm: Rhythm, seed: int, say: Say
) -> dict[str, RunTimes]:
    """Let the second of two instances join and leave, so many times for each contender.

    A contender has one group in each lane. Within a lane, the contenders take turns; the lanes go on at the same time.

    Args:
        contenders: What is compared.
        runs: How often each of them joins and leaves, in all lanes together.
        lanes: How many groups of each there are.
        rhythm: When it joins and leaves.
        seed: Of the random times.
        say: Told about each run.
    """
    figures = {each.name: RunTimes() for each in contenders}
    rng = random.Random(seed)
    phases = list(zip(rhythm.phases(runs, rng), rhythm.phases(runs, rng), strict=True))
    async with asyncio.TaskGroup() as tasks:
        for number in range(min(lanes, runs)):
            tasks.create_task(_Lane(contenders, figures, rhythm, say).go(phases[number::lanes]))
    return figures


class _Lane:
    """One group of each contender."""

    def __init__(
        self,
        contenders: Sequence[InstanceRunner],
        figures: Mapping[str, RunTimes],
        rhythm: Rhythm,
        say: Say,
    ) -> None:
        self._groups = [_Group(each, rhythm) for each in contenders]
        self._figures = figures
        self._say = say

    async def go(self, phases: Sequence[tuple[float, float]]) -> None:
        for group in self._groups:
            await group.begin()
        for run, pair in enumerate(phases):
            for group in self._groups[:: -1 if run % 2 else 1]:
                await self._run(group, *pair)

    async def _run(self, group: "_Group", joins_at_s: float, leaves_at_s: float) -> None:
        joined_s = await group.join(joins_at_s)
        left_s = await group.leave(leaves_at_s)
        seconds = self._figures[group.contender.name].seconds
        seconds[JOIN].append(joined_s)
        seconds[LEAVE].append(left_s)
        self._say(f"{group.contender.name} {len(seconds[JOIN])}: joined in {joined_s:.3f} s, left in {left_s:.3f} s")


class _Group:
    """A group with one instance that stays, and one that comes and goes."""

    def __init__(self, contender: InstanceRunner, rhythm: Rhythm) -> None:
        self.contender = contender
        self._rhythm = rhythm
        self._group_id = unique("rebalanced")
        self._first = f"{self._group_id}/first"
        self._guests = 0

    @property
    def _guest(self) -> str:
        return f"{self._group_id}/guest-{self._guests}"

    async def begin(self) -> None:
        await self.contender.prepare(self._first)
        await self.contender.open(self._group_id, self._first)
        await self._until({self._first: TASKS})

    async def join(self, phase_s: float) -> float:
        self._guests += 1
        await self.contender.prepare(self._guest)
        await self._wait(phase_s)
        await self.contender.open(self._group_id, self._guest)
        instances = await self._until({self._first: TASKS // 2, self._guest: TASKS // 2})
        return instances[self._guest].latest_s - instances[self._guest].began_s

    async def leave(self, phase_s: float) -> float:
        await self._wait(phase_s)
        await self.contender.leave(self._guest)
        instances = await self._until({self._first: TASKS})
        left_s = (await self.contender.instance(self._guest)).left_s
        assert left_s is not None
        await self.contender.end(self._guest)
        return instances[self._first].latest_s - left_s

    async def _wait(self, phase_s: float) -> None:
        """Wait for this phase of the first instance, whose tasks last changed with one of its heartbeats."""
        await self._rhythm.wait((await self.contender.instance(self._first)).changed_s, phase_s)

    async def _until(self, tasks: Mapping[str, int]) -> Mapping[str, Instance]:
        """Wait until these instances run so many tasks, each task once."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                instances = {name: await self.contender.instance(name) for name in tasks}
                if _run_exactly(instances, tasks):
                    return instances
                await asyncio.sleep(_LOOK_EVERY_S)


def _run_exactly(instances: Mapping[str, Instance], tasks: Mapping[str, int]) -> bool:
    running = {name: instances[name].running for name in tasks}
    different = {task for each in running.values() for task in each}
    return len(different) == TASKS and all(len(running[name]) == count for name, count in tasks.items())
