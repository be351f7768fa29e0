"""Members whose topology is not that of the leader."""

from collections.abc import Collection, Iterator, Mapping

from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.streams_leader.subscriptions import LedMember, Subscriptions
from kafka_groups.assignment import TaskInfo
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.client.events import listed
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["warnings_about_strangers"]


def warnings_about_strangers(
    subscriptions: Subscriptions,
    tasks: Mapping[TaskId, TaskInfo],
    read_topics: Collection[str],
    readers: Mapping[TopicPartition, TaskId],
    sources: PatternSources | None = None,
) -> tuple[str, ...]:
    """Return a warning about members with other topics or tasks than the leader's topology has; nothing without such.

    Args:
        subscriptions: The members.
        tasks: The tasks of the leader's topology.
        read_topics: The topics that they read.
        readers: The task that reads each partition.
        sources: The patterns of the leader's topology. Members find topics that match at different times.
    """
    read = frozenset(read_topics)
    strange = {
        member_id: told
        for member_id, member in sorted(subscriptions.members.items())
        if (told := "; ".join(_differences(member, tasks, read, readers, sources)))
    }
    if not strange:
        return ()
    told = listed(f"{member_id} ({differences})" for member_id, differences in strange.items())
    text = (
        "Members of the group have another topology than this member, which leads it, or state of tasks that do not "
        f"exist here. Topics and tasks that this member does not know are not assigned: {told}."
    )
    return (text,)


def _differences(
    member: LedMember,
    tasks: Mapping[TaskId, TaskInfo],
    read: frozenset[str],
    readers: Mapping[TopicPartition, TaskId],
    sources: PatternSources | None,
) -> Iterator[str]:
    matched = frozenset() if sources is None else sources.matched(member.topics ^ read)
    roles = {"also reads": member.topics - read - matched, "does not read": read - member.topics - matched}
    for role, topics in roles.items():
        if topics:
            yield f"{role} {listed(sorted(topics))}"
    unknown = member.task_offset_sums.keys() - tasks.keys()
    if sources is not None:  # a topic that was deleted may have had more partitions
        unknown = {task for task in unknown if task.subtopology_id not in sources.subtopologies}
    if unknown:
        yield f"has state of {listed(in_task_order(unknown))}"
    deleted = frozenset() if sources is None else sources.matched(each.topic for each in member.owned_partitions)
    owned = [each for each in sorted(member.owned_partitions) if each not in readers and each.topic not in deleted]
    if owned:
        yield f"owns {listed(owned)}"
