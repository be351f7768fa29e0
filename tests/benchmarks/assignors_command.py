"""The command `assignors`: how long the task assignor takes for very large streams groups, on one core."""

import gc
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from attrs import evolve, frozen

from kafka_groups.assignment import (
    DescribedSubtopology,
    GroupAssignorConfigs,
    MemberAssignment,
    MemberAssignments,
    StickyGroupAssignor,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TopologyDescriber,
    check_assignment,
)
from kafka_groups.cli.output import table
from tests.benchmarks.output import console, finish, say

TASKS_PER_MEMBER: Final = 10
_SUBTOPOLOGIES: Final = 10
_MOST_MEMBERS_OF_A_PROCESS: Final = 7
_STEPS: Final = ("first", "unchanged", "a tenth leaves", "it returns")
_NOTHING = MemberAssignment()


@frozen
class Timed:
    """The seconds of processor time that each step took for a group."""

    members: int
    tasks: int
    seconds: Mapping[str, float]

    @property
    def all_s(self) -> float:
        """The seconds of all steps."""
        return sum(self.seconds.values())


@click.command()
@click.option("--members", type=click.IntRange(80), default=10_000, show_default=True, help="Of the largest group.")
@click.option("--doublings", type=click.IntRange(0), default=3, show_default=True, help="Up to the largest group.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="The best of these counts.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def assignors(*, members: int, doublings: int, rounds: int, json_file: Path | None) -> None:
    """The assignor `sticky`: ten tasks for each member, half of them stateful, with one standby task each.

    Members are in processes of one to seven. Those that return report the offsets of the state that they left behind.
    """
    sizes = [members >> doubling for doubling in range(doublings, -1, -1)]
    taken = [[_timed(size) for size in sizes] for _ in range(rounds)]  # sizes take turns, so all meet the same machine
    measured = [_best(of_size) for of_size in zip(*taken, strict=True)]
    console().print(_table(measured))
    figures = [{"members": each.members, "tasks": each.tasks, "seconds": dict(each.seconds)} for each in measured]
    finish({"assignors": figures}, json_file)


def _best(rounds: Sequence[Timed]) -> Timed:
    return evolve(rounds[0], seconds={step: min(each.seconds[step] for each in rounds) for step in _STEPS})


def _timed(members: int) -> Timed:
    rng = random.Random(members)
    tasks = members * TASKS_PER_MEMBER
    partitions = tasks // _SUBTOPOLOGIES
    topology = TopologyDescriber(
        {str(number): DescribedSubtopology(partitions, is_stateful=number % 2 == 0) for number in range(_SUBTOPOLOGIES)}
    )
    group = _group(members, rng)
    gone = set(rng.sample(sorted(group.members), members // 10))
    seconds = {}
    seconds["first"], first = _run(group, topology)
    settled = _having(group, first)
    seconds["unchanged"], again = _run(settled, topology)
    assert again == first
    rest = evolve(settled, members={name: spec for name, spec in settled.members.items() if name not in gone})
    seconds["a tenth leaves"], without = _run(rest, topology)
    returning = {name: evolve(group.members[name], task_offsets=_offsets(first.members[name])) for name in gone}
    whole = _having(evolve(group, members={**group.members, **returning}), without)
    seconds["it returns"], _ = _run(whole, topology)
    return Timed(members, tasks, seconds)


def _group(members: int, rng: random.Random) -> StreamsGroupSpec:
    specs: dict[str, StreamsMemberSpec] = {}
    while len(specs) < members:
        spec = StreamsMemberSpec(f"process-{len(specs)}")
        for _ in range(min(rng.randint(1, _MOST_MEMBERS_OF_A_PROCESS), members - len(specs))):
            specs[f"member-{len(specs)}"] = spec
    return StreamsGroupSpec(specs, GroupAssignorConfigs(num_standby_replicas=1))


def _run(group: StreamsGroupSpec, topology: TopologyDescriber) -> tuple[float, MemberAssignments]:
    gc.collect()
    gc.freeze()  # so that the collector looks at what the assignor makes, and not at everything that was there before
    began = time.process_time()
    assignment = StickyGroupAssignor().assign(group, topology)
    took = time.process_time() - began
    gc.unfreeze()
    say(f"{len(group.members):,} members: {took:.2f} s")
    check_assignment(assignment, group, topology)
    return took, assignment


def _having(group: StreamsGroupSpec, assignment: MemberAssignments) -> StreamsGroupSpec:
    members = {}
    for name, spec in group.members.items():
        had = assignment.members.get(name, _NOTHING)
        members[name] = evolve(spec, active_tasks=had.active_tasks, standby_tasks=had.standby_tasks)
    return evolve(group, members=members)


def _offsets(had: MemberAssignment) -> dict[str, dict[int, int]]:
    roles = (had.active_tasks, had.standby_tasks)
    found: dict[str, dict[int, int]] = {}
    for subtopology_id, partitions in (pair for tasks in roles for pair in tasks.items()):
        if int(subtopology_id) % 2 == 0:
            found.setdefault(subtopology_id, {}).update(dict.fromkeys(partitions, 1_000))
    return found


def _table(measured: Sequence[Timed]) -> Any:
    rows = []
    for at, each in enumerate(measured):
        growth = each.all_s / measured[at - 1].all_s if at else None
        seconds = (f"{each.seconds[step]:.2f}" for step in _STEPS)
        rows.append((f"{each.members:,}", f"{each.tasks:,}", *seconds, f"{growth:.2f}" if growth else ""))
    return table("sticky, seconds of one core", ("members", "tasks", *_STEPS, "growth of all"), rows)
