"""The question what streams groups are: state, topology, members (StreamsGroupDescribe)."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.admin.rules.streams_values import (
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsInternalTopic,
    StreamsSubtopologyDescription,
    StreamsTopologyDescription,
)
from kafka_groups.assignment.group.group_assignor import OffsetsBySubtopology, TasksBySubtopology
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeAssignment,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupDescribeResponseGroup,
    StreamsGroupDescribeResponseMember,
    StreamsGroupDescribeSubtopology,
    StreamsGroupDescribeTopology,
)
from kafka_groups.protocol.messages.streams_group_parts import StreamsTopicInfo, TaskIds, TaskOffset

__all__ = ["described_streams_groups"]


async def described_streams_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, StreamsGroupDescription]:
    """Ask the coordinators for groups with topology and members, but without lag."""

    def build(keys: Sequence[str], _version: int) -> StreamsGroupDescribeRequest:
        return StreamsGroupDescribeRequest(group_ids=tuple(keys))

    keys, api = tuple(dict.fromkeys(group_ids)), ApiKey.STREAMS_GROUP_DESCRIBE
    return await ask(Question("describe the streams group", api, keys, build, _described, COORDINATORS))


def _described(
    _keys: Sequence[str], response: StreamsGroupDescribeResponse
) -> Mapping[str, Answer[StreamsGroupDescription]]:
    return {
        group.group_id: told(group.error_code, group.error_message, _description_of(group)) for group in response.groups
    }


def _description_of(group: StreamsGroupDescribeResponseGroup) -> StreamsGroupDescription:
    return StreamsGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor_name,
        topology=None if group.topology is None else _topology_of(group.topology),
        members=tuple(map(_member_of, group.members)),
    )


# ------------------------------------------------------------------------------------------------ topology


def _topology_of(topology: StreamsGroupDescribeTopology) -> StreamsTopologyDescription:
    return StreamsTopologyDescription(topology.epoch, tuple(map(_subtopology_of, topology.subtopologies or ())))


def _subtopology_of(subtopology: StreamsGroupDescribeSubtopology) -> StreamsSubtopologyDescription:
    return StreamsSubtopologyDescription(
        subtopology_id=subtopology.subtopology_id,
        source_topics=subtopology.source_topics,
        repartition_sources=tuple(map(_internal_topic, subtopology.repartition_source_topics)),
        repartition_sinks=subtopology.repartition_sink_topics,
        changelogs=tuple(map(_internal_topic, subtopology.state_changelog_topics)),
    )


def _internal_topic(info: StreamsTopicInfo) -> StreamsInternalTopic:
    return StreamsInternalTopic(
        name=info.name,
        # 0 partitions mean that the coordinator has not derived the number yet, and a replication factor below 1 the
        # brokers' default.
        partitions=info.partitions or None,
        replication_factor=info.replication_factor if info.replication_factor > 0 else None,
        configs={each.key: each.value for each in info.topic_configs},
    )


# ------------------------------------------------------------------------------------------------- members


def _member_of(member: StreamsGroupDescribeResponseMember) -> StreamsGroupMemberDescription:
    endpoint = member.user_endpoint
    return StreamsGroupMemberDescription(
        member_id=member.member_id,
        epoch=member.member_epoch,
        process_id=member.process_id,
        instance_id=member.instance_id,
        rack=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        user_endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
        client_tags={tag.key: tag.value for tag in member.client_tags},
        topology_epoch=member.topology_epoch,
        assignment=_tasks_of(member.assignment),
        target_assignment=_tasks_of(member.target_assignment),
        task_offsets=_offsets_by_subtopology(member.task_offsets),
        task_end_offsets=_offsets_by_subtopology(member.task_end_offsets),
        is_classic=member.is_classic,
    )


def _tasks_of(tasks: StreamsGroupDescribeAssignment) -> StreamsGroupTasks:
    return StreamsGroupTasks(
        active=_by_subtopology(tasks.active_tasks),
        standby=_by_subtopology(tasks.standby_tasks),
        warmup=_by_subtopology(tasks.warmup_tasks),
    )


def _by_subtopology(tasks: Iterable[TaskIds]) -> TasksBySubtopology:
    return {each.subtopology_id: frozenset(each.partitions) for each in tasks}


def _offsets_by_subtopology(offsets: Iterable[TaskOffset]) -> OffsetsBySubtopology:
    found: dict[str, dict[int, int]] = {}
    for each in offsets:
        found.setdefault(each.subtopology_id, {})[each.partition] = each.offset
    return found
