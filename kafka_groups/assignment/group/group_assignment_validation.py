"""Checks of what a task assignor returns.

Kafka 4.4 stores whatever an assignor returns. A task that does not exist, or one with two owners, would then reach the
members. Here it is an error of the assignor.

A task without an owner is allowed, and so are members that the assignment leaves out: they are assigned no tasks.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from kafka_groups.assignment.group.group_assignor import (
    MemberAssignments,
    StreamsGroupSpec,
    TaskAssignorError,
    TasksBySubtopology,
    TopologyDescriber,
)
from kafka_groups.types import TaskId

__all__ = ["check_assignment"]

_SHOWN = 5

_Owned = Iterable[tuple[str, TasksBySubtopology]]
"""Member ids with their tasks in one role."""


def check_assignment(assignment: MemberAssignments, group: StreamsGroupSpec, topology: TopologyDescriber) -> None:
    """Check that a group can use an assignment.

    Args:
        assignment: What the assignor returned.
        group: What it was given.
        topology: The tasks that it was to assign.

    Raises:
        TaskAssignorError: The assignment contains unknown members or tasks, an active task with two owners, or several
            copies of a task in one process. The message names the first few of each.
    """
    unknown = sorted(assignment.members.keys() - group.members.keys())
    _refuse(unknown, "assigns tasks to unknown members: {}")
    members = assignment.members.items()
    active = [(member_id, assigned.active_tasks) for member_id, assigned in members]
    standby = [(member_id, assigned.standby_tasks) for member_id, assigned in members]
    _refuse(_unknown_tasks(chain(active, standby), topology), "assigns unknown tasks: {}")
    _refuse(_twice_active(active), "assigns active tasks to several members: {}")
    _refuse(_twice_in_a_process(chain(active, standby), group), "assigns tasks to one process several times: {}")


def _refuse(found: Iterable[str], complaint: str) -> None:
    """Raise an error if anything was found."""
    listed = list(found)
    if listed:
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        raise TaskAssignorError(f"The task assignor {complaint.format(', '.join(islice(listed, _SHOWN)))}{more}")


def _unknown_tasks(owned: _Owned, topology: TopologyDescriber) -> Iterator[str]:
    # A sub-topology that the topology does not have counts as one without tasks.
    counts = {id_: described.max_num_input_partitions for id_, described in topology.subtopologies.items()}
    for member_id, tasks in owned:
        for subtopology_id, partitions in tasks.items():
            count = counts.get(subtopology_id, 0)
            for partition in partitions:
                if not 0 <= partition < count:
                    yield f"{subtopology_id}_{partition} to member '{member_id}'"


def _twice_active(active: _Owned) -> Iterator[str]:
    owners: dict[TaskId, str] = {}
    for member_id, tasks in active:
        for subtopology_id, partitions in tasks.items():
            for partition in partitions:
                owner = owners.setdefault(TaskId(subtopology_id, partition), member_id)
                # KIP-1071, "Assignment": the same member twice is no contradiction, since tasks are sets.
                if owner != member_id:
                    yield f"{subtopology_id}_{partition} to members '{owner}' and '{member_id}'"


def _twice_in_a_process(owned: _Owned, group: StreamsGroupSpec) -> Iterator[str]:
    copies: set[tuple[str, str, int]] = set()
    for member_id, tasks in owned:
        process_id = group.members[member_id].process_id
        for subtopology_id, partitions in tasks.items():
            for partition in partitions:
                copy = (process_id, subtopology_id, partition)
                # KIP-1071, "Assignment": members of one process share a state directory, so a task must not be there in
                # two roles.
                if copy in copies:
                    yield f"{subtopology_id}_{partition} in process '{process_id}'"
                copies.add(copy)
