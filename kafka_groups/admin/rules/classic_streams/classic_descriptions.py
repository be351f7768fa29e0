"""Classic groups of streams applications, as an admin client describes them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_groups.admin.rules.classic_streams.classic_groups import (
    DecodedClassicGroup,
    DecodedClassicMember,
)
from kafka_groups.admin.rules.classic_streams.classic_values import (
    ClassicStreamsGroupDescription,
    ClassicStreamsGroupMember,
)
from kafka_groups.protocol.consumer_protocol import NO_GENERATION
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["described_classic_group"]

_SHUTDOWN_REQUESTED: Final = 4
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)

_Subtopologies = Mapping[str, str]
"""The sub-topology that reads a topic, by topic."""


def described_classic_group(group: DecodedClassicGroup) -> ClassicStreamsGroupDescription:
    """Return the description of a group, without lag."""
    subtopologies = _subtopologies(group.members)
    members = [_member(each, subtopologies) for each in group.members]
    members.sort(key=lambda each: (each.process_id, each.client_id, each.member_id))
    return ClassicStreamsGroupDescription(group_id=group.group_id, state=group.state, members=tuple(members))


def _subtopologies(members: Iterable[DecodedClassicMember]) -> _Subtopologies:
    """Return which sub-topologies read topics, as the assignments tell.

    Subscriptions name the partitions that a member owns, and only assignments tell tasks. A topic is read by one
    sub-topology, so one partition of it that is assigned is enough.
    """
    inputs = (pair for each in members for pair in each.inputs.items())
    return {key.topic: task.subtopology_id for task, partitions in inputs for key in partitions}


def _member(member: DecodedClassicMember, subtopologies: _Subtopologies) -> ClassicStreamsGroupMember:
    sums = dict(member.info.task_offset_sums)
    next_ms = member.assignment_info.next_rebalance_ms
    generation = member.subscription.generation_id
    return ClassicStreamsGroupMember(
        member_id=member.member_id,
        process_id=str(member.info.process_id),
        instance_id=member.instance_id,
        rack=member.subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        user_endpoint=member.endpoint,
        client_tags=dict(member.info.client_tags),
        topics=frozenset(member.subscription.topics),
        version=member.info.version,
        latest_version=member.info.latest_supported_version,
        generation=None if generation == NO_GENERATION else generation,
        owned_partitions=member.owned_partitions,
        owned_tasks=_tasks(member.owned_partitions, subtopologies),
        running_tasks=frozenset(task for task, total in sums.items() if total == RUNNING_TASK),
        task_offset_sums={
            task: None if total == UNKNOWN_OFFSET_SUM else total
            for task, total in sums.items()
            if total != RUNNING_TASK
        },
        requests_shutdown=member.info.error_code == _SHUTDOWN_REQUESTED,
        active_tasks=frozenset(member.inputs),
        standby_tasks=member.standby_tasks,
        assigned_version=member.assignment_info.version,
        common_version=member.assignment_info.commonly_supported_version,
        error_code=member.assignment_info.error_code,
        rejoins_at_once=next_ms is not None and next_ms <= 0,
        next_rebalance=None if next_ms is None or next_ms <= 0 else _time(next_ms),
    )


def _tasks(partitions: Iterable[TopicPartition], subtopologies: _Subtopologies) -> frozenset[TaskId]:
    return frozenset(
        TaskId(subtopologies[key.topic], key.partition) for key in partitions if key.topic in subtopologies
    )


def _time(wall_ms: int) -> datetime:
    # The number may be anything: other programs have written it.
    try:
        return _EPOCH + timedelta(milliseconds=wall_ms)
    except OverflowError:
        return _LATEST
