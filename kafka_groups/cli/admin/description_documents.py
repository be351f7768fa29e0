"""Groups of streams applications as JSON documents."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_groups.admin import (
    ClassicStreamsGroupDescription,
    ClassicStreamsGroupMember,
    Results,
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsInternalTopic,
    StreamsSubtopologyDescription,
)
from kafka_groups.assignment.group.by_subtopology import tasks_in
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["Description", "descriptions_document"]

DescriptionEntry = dict[str, Any]
Description = StreamsGroupDescription | ClassicStreamsGroupDescription


def descriptions_document(found: Results[str, Description]) -> DescriptionEntry:
    """Return groups as values of JSON: times as text of ISO 8601, tasks such as `0_1`, and null if it is unknown."""
    return {
        "items": [_group(each) for each in found.values.values()],
        "errors": [
            {"resource": name, "code": type(error).__name__, "message": str(error), "remedy": None}
            for name, error in found.errors.items()
        ],
    }


def _group(group: Description) -> DescriptionEntry:
    rest = _streams_group(group) if isinstance(group, StreamsGroupDescription) else _classic_group(group)
    return {
        "group": group.group_id,
        "protocol": "streams" if isinstance(group, StreamsGroupDescription) else "classic",
        "state": group.state,
        "lag": group.total_lag,
        "lag_error": None if group.lag_error is None else str(group.lag_error),
        "partitions": _partitions(group.lag),
        **rest,
    }


def _partitions(lags: Mapping[TopicPartition, int | None]) -> list[DescriptionEntry]:
    return [{"topic": key.topic, "partition": key.partition, "lag": lag} for key, lag in sorted(lags.items())]


def _endpoint(endpoint: tuple[str, int] | None) -> str | None:
    return None if endpoint is None else "{}:{}".format(*endpoint)


def _tasks(tasks: Iterable[TaskId]) -> list[str]:
    return [str(task) for task in sorted(tasks)]


# ---------------------------------------------------------------------------------------------- streams groups


def _streams_group(group: StreamsGroupDescription) -> DescriptionEntry:
    return {
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor": group.assignor,
        "subtopologies": None if group.topology is None else list(map(_subtopology, group.topology.subtopologies)),
        "members": list(map(_streams_member, group.members)),
    }


def _subtopology(each: StreamsSubtopologyDescription) -> DescriptionEntry:
    return {
        "subtopology": each.subtopology_id,
        "sources": list(each.source_topics),
        "repartition_sources": list(map(_internal_topic, each.repartition_sources)),
        "repartition_sinks": list(each.repartition_sinks),
        "changelogs": list(map(_internal_topic, each.changelogs)),
    }


def _internal_topic(topic: StreamsInternalTopic) -> DescriptionEntry:
    return {"topic": topic.name, "partitions": topic.partitions}


def _streams_member(member: StreamsGroupMemberDescription) -> DescriptionEntry:
    return {
        **_identity(member),
        "epoch": member.epoch,
        "classic": member.is_classic,
        "tasks": _roles(member.assignment),
        "target": _roles(member.target_assignment),
        "changelog_lags": {str(task): lag for task, lag in sorted(member.task_lags.items())},
    }


def _identity(member: StreamsGroupMemberDescription | ClassicStreamsGroupMember) -> DescriptionEntry:
    """Return what a member has in groups of both kinds."""
    return {
        "member": member.member_id,
        "process": member.process_id,
        "instance": member.instance_id,
        "rack": member.rack,
        "client": member.client_id,
        "host": member.client_host,
        "endpoint": _endpoint(member.user_endpoint),
        "client_tags": dict(member.client_tags),
    }


def _roles(tasks: StreamsGroupTasks) -> DescriptionEntry:
    roles = {"active": tasks.active, "standby": tasks.standby, "warmup": tasks.warmup}
    return {role: _tasks(tasks_in(ids)) for role, ids in roles.items()}


# ---------------------------------------------------------------------------------------------- classic groups


def _classic_group(group: ClassicStreamsGroupDescription) -> DescriptionEntry:
    return {"members": list(map(_classic_member, group.members))}


def _classic_member(member: ClassicStreamsGroupMember) -> DescriptionEntry:
    return {
        **_identity(member),
        "version": member.version,
        "latest_version": member.latest_version,
        "generation": member.generation,
        "owned": _tasks(member.owned_tasks),
        "running": _tasks(member.running_tasks),
        "changelog_positions": {str(task): total for task, total in sorted(member.task_offset_sums.items())},
        "requests_shutdown": member.requests_shutdown,
        "tasks": {"active": _tasks(member.active_tasks), "standby": _tasks(member.standby_tasks)},
        "assigned_version": member.assigned_version,
        "common_version": member.common_version,
        "error": member.error_code,
        "rejoins_at_once": member.rejoins_at_once,
        "next_rebalance": None if member.next_rebalance is None else member.next_rebalance.isoformat(),
    }
