"""The members of a group and its tasks before and after a change, in the form that all assignors are given."""

from collections.abc import Collection, Mapping
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

__all__ = ["PlanMembers", "members_after", "members_now", "tasks_of_group"]

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
    unknown = sorted(change.leaving - now.keys())
    if unknown:
        raise ConfigurationError(
            f"The group has no member {', '.join(unknown)}. Its members are {', '.join(sorted(now))}."
        )
    staying = {id_: member for id_, member in now.items() if id_ not in change.leaving}
    joining = _joining(now, change.joining)
    if not staying and not joining:
        raise ConfigurationError("Nobody would be left in the group. Keep a member, or let a process join.")
    return staying | joining


def _joining(now: PlanMembers, processes: Collection[PlannedProcess]) -> dict[str, MemberInput]:
    topics = next((each.topics for each in now.values()), frozenset[str]())
    prefix = _new_prefix({*now, *(str(each.process_id) for each in now.values())})
    return {
        f"{prefix}{number}-{thread}": _new(f"{prefix}{number}", process, topics)
        for number, process in enumerate(processes, 1)
        for thread in range(1, process.threads + 1)
    }


def _new_prefix(taken: Collection[str]) -> str:
    """Return how the ids of new processes and members begin: as no id that is there."""
    prefix = _NEW
    while any(id_.startswith(prefix) for id_ in taken):
        prefix += _NEW
    return prefix


def _new(name: str, process: PlannedProcess, topics: frozenset[str]) -> MemberInput:
    return MemberInput(process_id=ProcessId(name), topics=topics, rack_id=process.rack, client_tags=process.client_tags)
