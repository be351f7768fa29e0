"""A simulated run of a streams group whose assignor changes: right ones and wrong ones, in the middle of all faults."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from attrs import define, field

from kafka_groups.errors import UnknownServerError
from kafka_groups.testing.simulation import SimulatedWorld, SimulationReport, simulate
from tests.simulation.groups.crew import Act, Crew
from tests.simulation.groups.epochs.deployment import EpochDeployment
from tests.simulation.groups.epochs.play import play
from tests.simulation.groups.epochs.settled_groups import SettledGroups
from tests.simulation.reporting import report_of
from tests.simulation.streams.assignors import ASSIGNORS, HANGING, WRONG
from tests.simulation.streams.deployment import StreamsDeploymentRules
from tests.simulation.streams.ledger import streams_ledger
from tests.simulation.streams.member import Member, Seat
from tests.simulation.streams.settled import StreamsChanges
from tests.simulation.streams.topics import GROUP, SOURCES, tasks_of
from tests.simulation.streams.world import AT_ONCE, DESCRIBE, FAULTS, SETTINGS

__all__ = ["run_assignor_world"]

_TIMEOUT_MS, _HANGS_MS = 2_000, 9_000
_ASSIGNOR, _INTERVAL = "streams.assignor.name", "streams.rack.aware.assignment.tags"
_RIGHT = ("sticky", "highly_available", "scattered")


def run_assignor_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    settings: dict[str, object] = {
        **SETTINGS,
        **AT_ONCE,
        "group.streams.assignors": ASSIGNORS,
        "group.streams.assignor.timeout.ms": _TIMEOUT_MS,
    }
    return report_of(partial(simulate, _run, seed, faults=FAULTS, settings=settings, write_event=write_event))


@define(eq=False)
class _Chosen:
    """Chooses the group's assignor.

    Attributes:
        world: Where the group is.
        last: The assignor that it has in the end.
    """

    world: SimulatedWorld
    last: str

    async def change(self) -> None:
        """Choose another one, with which tasks are assigned at once, or with the next change."""
        rng: random.Random = self.world.rng
        name = rng.choice((*_RIGHT, *WRONG))
        self.world.struck["wrong_assignor" if name in WRONG else "other_assignor"] += 1
        self.world.struck["hanging_assignor"] += name == HANGING
        self._choose(name, at_once=rng.random() < 0.7)

    async def settle(self) -> None:
        """Choose one that is right."""
        self._choose(self.last, at_once=True)

    def _choose(self, name: str, *, at_once: bool) -> None:
        changes = {_ASSIGNOR: name, **({_INTERVAL: f"tag{self.world.rng.random()}"} if at_once else {})}
        self.world.cluster.alter_group_configs(GROUP, changes)


@define(eq=False)
class _AssignorDeploymentRules(StreamsDeploymentRules):
    """As in all groups, but that loads need not be equal, and heartbeats fail with a wrong assignor."""

    chosen: _Chosen = field(kw_only=True)

    def new_member(self, seat: Seat) -> Member:
        """A member that may be ended by a wrong assignor."""
        member = super().new_member(seat)
        member.may_meet = (UnknownServerError,)
        return member

    def problem(self, members: Sequence[Member]) -> str:
        """Each task must have one owner, and no process two copies; with `sticky`, loads are equal, too."""
        if self.chosen.last == "sticky":
            return super().problem(members)
        owners = Counter(task for each in members for task in each.active)
        if owners != Counter(tasks_of(self.world.cluster.metadata)):
            return "not every task has one owner"
        return self._problem_of_standbys(members)

    def acts(self, crew: Crew[Seat, Member]) -> Sequence[Act]:
        """The assignor changes often."""
        return (*super().acts(crew), self.chosen.change, self.chosen.change, self.chosen.change)


async def _run(world: SimulatedWorld) -> None:
    for name, partitions in SOURCES.items():
        world.cluster.create_topic(name, partitions)
    world.cluster.faults.assignor_ms[HANGING] = _HANGS_MS
    chosen = _Chosen(world, world.rng.choice(_RIGHT))
    rules = _AssignorDeploymentRules(world, chosen=chosen)
    deployment: EpochDeployment[Seat, Member] = EpochDeployment(world, rules)
    changes = StreamsChanges(world, deployment).in_order() if chosen.last == "sticky" else ()
    settled = SettledGroups(world, streams_ledger(world), deployment, GROUP, DESCRIBE, changes)
    await play(settled, when_faults_end=chosen.settle)
