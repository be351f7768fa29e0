"""What is bad about the assignment of a group, where several are right."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Self
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.assignment import RackAwareStrategy, TaskInfo
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId
from tests.support.assignors.leader_cases import LeaderCase

__all__ = ["PlacementCosts", "check_valid", "without_claims"]

Tasks = Mapping[TaskId, TaskInfo]
Given = Mapping[str, Mapping[str, Any]]
"""Decoded assignments by member id."""


def without_claims(case: LeaderCase) -> LeaderCase:
    """Return a group whose members own no partitions, so that all get what they shall have in the end at once.

    They still report the tasks that run.
    """
    return evolve(case, members=tuple(evolve(each, owned=frozenset()) for each in case.members))


@frozen
class PlacementCosts:
    """The costs of an assignment.

    Attributes:
        moves: The active tasks that run elsewhere than before.
        spread: The highest number of tasks and copies for each member of a process, less the lowest one.
        missing: The copies that there might be in addition.
        crossed: The partitions that active tasks read from another rack, if racks count.
    """

    moves: int = 0
    spread: float = 0.0
    missing: int = 0
    crossed: int = 0

    def __add__(self, other: "PlacementCosts") -> "PlacementCosts":
        return PlacementCosts(
            self.moves + other.moves,
            self.spread + other.spread,
            self.missing + other.missing,
            self.crossed + other.crossed,
        )

    @classmethod
    def of(cls, case: LeaderCase, tasks: Tasks, given: Given) -> Self:
        """Return the costs of the assignment of a group."""
        active, copies = _by_process(case, given)
        ran = {(task, each.of_process) for each in case.members for task, it in each.sums if it == RUNNING_TASK}
        owners = {task for task, process in ran if process is not None}
        moves = sum(task in owners and (task, process) not in ran for task, process in active)
        members = Counter(each.of_process for each in case.members)
        loads = Counter(process for _, process in (*active, *copies))
        shares = [loads[process] / count for process, count in members.items()]
        wanted = min(case.configs.num_standby_replicas, len(members) - 1) * sum(it.is_stateful for it in tasks.values())
        return cls(moves, max(shares) - min(shares), wanted - len(copies), _crossed(case, tasks, active))


def check_valid(case: LeaderCase, tasks: Tasks, given: Given) -> None:
    """Check that each task runs once, and has its copies in other processes."""
    active, copies = _by_process(case, given)
    assert sorted(task for task, _ in active) == sorted(tasks)
    assert len(copies) == len(set(copies))
    assert not set(active) & set(copies)
    counts = Counter(task for task, _ in copies)
    most = min(case.configs.num_standby_replicas, len({each.of_process for each in case.members}) - 1)
    assert all(counts[task] <= most and tasks[task].is_stateful for task in counts)


_Placed = list[tuple[TaskId, UUID | None]]


def _by_process(case: LeaderCase, given: Given) -> tuple[_Placed, _Placed]:
    processes = {each.member_id: each.of_process for each in case.members}
    active = [(task, processes[id_]) for id_, each in given.items() for task in set(each["tasks"].values())]
    return active, [(task, processes[id_]) for id_, each in given.items() for task in each["standby"]]


def _crossed(case: LeaderCase, tasks: Tasks, active: _Placed) -> int:
    racks = {each.of_process: each.rack for each in case.members}
    if case.configs.rack_aware_assignment_strategy is RackAwareStrategy.NONE or not all(racks.values()):
        return 0
    return sum(
        each.is_source and racks[process] not in (each.rack_ids or ())
        for task, process in active
        for each in tasks[task].topic_partitions
    )
