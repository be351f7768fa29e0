"""The members of a group and its tasks before and after a change, in the form that all assignors are given."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from kafka_groups.admin.rules.plans.situation import GroupSituation, plannable_topology
from kafka_groups.admin.rules.plans.what_if import PlannedProcess, WhatIf
from kafka_groups.admin.rules.streams_values import StreamsGroupMemberDescription, StreamsSubtopologyDescription
from kafka_groups.assignment import ProcessId, TaskInfo
from kafka_groups.assignment.application.neutral import MemberInput
from kafka_groups.assignment.application.tasks import source_partitions
from kafka_groups.assignment.application.topology_tasks import SubtopologyTopics, tasks_of_topology
from kafka_groups.assignment.group.by_subtopology import offsets_of_tasks, tasks_in
from kafka_groups.errors import ConfigurationError
from kafka_groups.types import TaskId

__all__ = ["PlanMembers", "check_members", "members_after", "members_now", "names_of_joining", "tasks_of_group"]

PlanMembers = Mapping[str, MemberInput]
"""Members by id."""

_NEW: Final = "new-"


def tasks_of_group(situation: GroupSituation) -> dict[TaskId, TaskInfo]:
    """Return the tasks of a group."""
    counts = situation.partition_counts
    topology = plannable_topology(situation.group)
    topics = {each.subtopology_id: _topics(each, counts) for each in topology.subtopologies}
    return tasks_of_topology(topics, situation.racks.get, application_id=situation.group.group_id)


def _topics(subtopology: StreamsSubtopologyDescription, counts: Mapping[str, int]) -> SubtopologyTopics:
    sources = [*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_sources)]
    return SubtopologyTopics(
        {name: counts[name] for name in sources}, {topic.name: counts[topic.name] for topic in subtopology.changelogs}
    )


def members_now(situation: GroupSituation, tasks: Mapping[TaskId, TaskInfo]) -> dict[str, MemberInput]:
    """Return the members that a group has, with the tasks that they have now."""
    topics = frozenset(situation.group.read_topics)
    return {each.member_id: _member(each, topics, tasks) for each in situation.group.members}


def _member(
    described: StreamsGroupMemberDescription, topics: frozenset[str], tasks: Mapping[TaskId, TaskInfo]
) -> MemberInput:
    assignment = described.assignment
    active = tasks_in(assignment.active)
    return MemberInput(
        process_id=ProcessId(described.process_id),
        active_tasks=active,
        # A warm-up task is a copy that catches up, and KIP-924 knows no third role.
        standby_tasks=tasks_in(assignment.standby) | tasks_in(assignment.warmup),
        task_offsets=offsets_of_tasks(described.task_offsets),
        task_end_offsets=offsets_of_tasks(described.task_end_offsets),
        topics=topics,
        owned_partitions=source_partitions(active, tasks),
        instance_id=described.instance_id,
        generation_id=described.epoch,
        rack_id=described.rack or None,
        host_info=described.user_endpoint,
        client_tags=described.client_tags,
    )


# ----------------------------------------------------------------------------------------------- after the change


def members_after(now: PlanMembers, change: WhatIf) -> dict[str, MemberInput]:
    """Return the members that a group would have.

    Args:
        now: The members that it has.
        change: Who leaves, and who joins.

    Raises:
        ConfigurationError: A member that is to leave is not in the group, or nobody stays.
    """
    check_members(now.keys(), change.leaving, change.joining)
    staying = {id_: member for id_, member in now.items() if id_ not in change.leaving}
    return staying | _joining(now, change.joining)


def check_members(now: Collection[str], leaving: Collection[str], joining: Collection[PlannedProcess]) -> None:
    """Refuse a change that a group cannot have.

    Args:
        now: The ids of its members.
        leaving: The ids of those that leave.
        joining: The processes that join.

    Raises:
        ConfigurationError: A member that is to leave is not in the group, or nobody stays.
    """
    unknown = sorted(frozenset(leaving).difference(now))
    if unknown:
        raise ConfigurationError(
            f"The group has no member {', '.join(unknown)}. Its members are {', '.join(sorted(now))}."
        )
    if len(leaving) == len(now) and not joining:
        raise ConfigurationError("Nobody would be left in the group. Keep a member, or let a process join.")


def _joining(now: PlanMembers, processes: Iterable[PlannedProcess]) -> dict[str, MemberInput]:
    topics = next((each.topics for each in now.values()), frozenset[str]())
    taken = {*now, *(str(each.process_id) for each in now.values())}
    return {id_: _new(name, process, topics) for id_, name, process in names_of_joining(processes, taken)}


def names_of_joining(
    processes: Iterable[PlannedProcess], taken: Collection[str]
) -> Iterator[tuple[str, str, PlannedProcess]]:
    """Yield the member id and the process id of each thread of processes that join, with its process.

    Args:
        processes: The processes.
        taken: The ids that members and processes have.
    """
    prefix = _new_prefix(taken)
    for number, process in enumerate(processes, 1):
        name = f"{prefix}{number}"
        for thread in range(1, process.threads + 1):
            yield f"{name}-{thread}", name, process


def _new_prefix(taken: Collection[str]) -> str:
    """Return how the ids of new processes and members begin: as no id that is there."""
    prefix = _NEW
    while any(id_.startswith(prefix) for id_ in taken):
        prefix += _NEW
    return prefix


def _new(name: str, process: PlannedProcess, topics: frozenset[str]) -> MemberInput:
    return MemberInput(process_id=ProcessId(name), topics=topics, rack_id=process.rack, client_tags=process.client_tags)
