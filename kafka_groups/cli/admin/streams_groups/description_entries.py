"""Groups of streams applications as entries of documents."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_groups.admin import (
    ClassicStreamsGroupDescription,
    ClassicStreamsGroupMember,
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsInternalTopic,
    StreamsSubtopologyDescription,
)
from kafka_groups.assignment.group.by_subtopology import tasks_in
from kafka_groups.cli.documents.streams_groups import (
    ClassicStreamsMemberEntry,
    InternalTopicEntry,
    PartitionLagEntry,
    StreamsGroupContents,
    StreamsMemberEntry,
    SubtopologyEntry,
    TasksByRole,
)
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["StreamsDescription", "streams_contents"]

StreamsDescription = StreamsGroupDescription | ClassicStreamsGroupDescription


def streams_contents(group: StreamsDescription) -> StreamsGroupContents:
    """Return a group as an entry."""
    is_streams = isinstance(group, StreamsGroupDescription)
    return StreamsGroupContents(
        group=group.group_id,
        protocol="streams" if is_streams else "classic",
        state=group.state,
        lag=group.total_lag,
        lag_error=None if group.lag_error is None else str(group.lag_error),
        partitions=_partitions(group.lag),
        **(_of_streams(group) if isinstance(group, StreamsGroupDescription) else _of_classic(group)),
    )


def _partitions(lags: Mapping[TopicPartition, int | None]) -> tuple[PartitionLagEntry, ...]:
    return tuple(PartitionLagEntry(key.topic, key.partition, lag) for key, lag in sorted(lags.items()))


def _tasks(tasks: Iterable[TaskId]) -> tuple[str, ...]:
    return tuple(str(task) for task in sorted(tasks))


def _identity(member: StreamsGroupMemberDescription | ClassicStreamsGroupMember) -> dict[str, Any]:
    """Return what a member has in groups of both protocols."""
    return {
        "member": member.member_id,
        "process": member.process_id,
        "instance": member.instance_id,
        "rack": member.rack,
        "client": member.client_id,
        "host": member.client_host,
        "endpoint": None if member.user_endpoint is None else "{}:{}".format(*member.user_endpoint),
        "client_tags": dict(member.client_tags),
    }


# ---------------------------------------------------------------------------------------------- streams groups


def _of_streams(group: StreamsGroupDescription) -> dict[str, Any]:
    topology = group.topology
    return {
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor": group.assignor,
        "subtopologies": None if topology is None else tuple(map(_subtopology, topology.subtopologies)),
        "members": tuple(map(_streams_member, group.members)),
    }


def _subtopology(each: StreamsSubtopologyDescription) -> SubtopologyEntry:
    return SubtopologyEntry(
        each.subtopology_id,
        tuple(each.source_topics),
        tuple(map(_internal_topic, each.repartition_sources)),
        tuple(each.repartition_sinks),
        tuple(map(_internal_topic, each.changelogs)),
    )


def _internal_topic(topic: StreamsInternalTopic) -> InternalTopicEntry:
    return InternalTopicEntry(topic.name, topic.partitions)


def _streams_member(member: StreamsGroupMemberDescription) -> StreamsMemberEntry:
    return StreamsMemberEntry(
        **_identity(member),
        tasks=_roles(member.assignment),
        epoch=member.epoch,
        classic=member.is_classic,
        target=_roles(member.target_assignment),
        changelog_lags={str(task): lag for task, lag in sorted(member.task_lags.items())},
    )


def _roles(tasks: StreamsGroupTasks) -> TasksByRole:
    return TasksByRole(*(_tasks(tasks_in(ids)) for ids in (tasks.active, tasks.standby, tasks.warmup)))


# ---------------------------------------------------------------------------------------------- classic groups


def _of_classic(group: ClassicStreamsGroupDescription) -> dict[str, Any]:
    nothing = dict.fromkeys(("epoch", "assignment_epoch", "assignor", "subtopologies"))
    return {**nothing, "members": tuple(map(_classic_member, group.members))}


def _classic_member(member: ClassicStreamsGroupMember) -> ClassicStreamsMemberEntry:
    rebalance = member.next_rebalance
    return ClassicStreamsMemberEntry(
        **_identity(member),
        tasks=TasksByRole(_tasks(member.active_tasks), _tasks(member.standby_tasks)),
        version=member.version,
        latest_version=member.latest_version,
        generation=member.generation,
        owned=_tasks(member.owned_tasks),
        running=_tasks(member.running_tasks),
        changelog_positions={str(task): total for task, total in sorted(member.task_offset_sums.items())},
        requests_shutdown=member.requests_shutdown,
        assigned_version=member.assigned_version,
        common_version=member.common_version,
        error=member.error_code,
        rejoins_at_once=member.rejoins_at_once,
        next_rebalance_ms=None if rebalance is None else round(rebalance.timestamp() * 1_000),
    )
