"""Members whose topology is not that of the leader."""

from collections.abc import Collection, Iterator, Mapping

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
) -> tuple[str, ...]:
    """Return a warning about members with other topics or tasks than the leader's topology has; nothing without such.

    Args:
        subscriptions: The members.
        tasks: The tasks of the leader's topology.
        read_topics: The topics that they read.
        readers: The task that reads each partition.
    """
    strange = {
        member_id: told
        for member_id, member in sorted(subscriptions.members.items())
        if (told := "; ".join(_differences(member, tasks, frozenset(read_topics), readers)))
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
) -> Iterator[str]:
    roles = {"also reads": member.topics - read, "does not read": read - member.topics}
    for role, topics in roles.items():
        if topics:
            yield f"{role} {listed(sorted(topics))}"
    unknown = member.task_offset_sums.keys() - tasks.keys()
    if unknown:
        yield f"has state of {listed(in_task_order(unknown))}"
    owned = [each for each in sorted(member.owned_partitions) if each not in readers]
    if owned:
        yield f"owns {listed(owned)}"
