"""StreamsGroupDescribe (key 89), v0-v1: returns members, tasks, topology and state of streams groups (KIP-1071).

A topology has the numbers of partitions once it works with the existing topics. Its description (v1, KIP-1331) is
included if the request asks for it, and a member has sent it to this coordinator.

Errors per group: UNSUPPORTED_VERSION (streams.version=0, or group.coordinator.rebalance.protocols lacks streams),
GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED (the client may not describe a topic of the group),
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID (empty), GROUP_ID_NOT_FOUND.
"""

from collections.abc import Iterator

from attrs import evolve

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.authorized_operations import group_operations
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_streams_groups_enabled, may_describe_all
from kafka_groups.errors import BrokerError, InvalidGroupIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupDescribeResponseGroup,
    StreamsGroupDescribeSubtopology,
)

__all__ = ["handle"]


async def handle(request: StreamsGroupDescribeRequest, context: RequestContext) -> StreamsGroupDescribeResponse:
    """Return one description for each requested group, even if the request lists a group twice."""
    each = context.turns.each(request.group_ids)
    groups = [await _described(group_id, request, context) async for group_id in each]
    return StreamsGroupDescribeResponse(groups=tuple(groups))


async def _described(
    group_id: str, request: StreamsGroupDescribeRequest, context: RequestContext
) -> StreamsGroupDescribeResponseGroup:
    try:
        group = await _describe(group_id, request, context)
    except BrokerError as error:
        return StreamsGroupDescribeResponseGroup(
            group_id=group_id, error_code=code_of(error), error_message=message_unless_refused(error)
        )
    # As in Kafka, the operations are asked about before the topics of the group.
    if request.include_authorized_operations:
        group = evolve(group, authorized_operations=group_operations(context, group_id))
    return group if _may_see(group, context) else _hidden(group_id)


def _may_see(group: StreamsGroupDescribeResponseGroup, context: RequestContext) -> bool:
    """Return whether the client may describe all topics of a group."""
    subtopologies = () if group.topology is None else group.topology.subtopologies or ()
    return may_describe_all((topic for each in subtopologies for topic in _topics(each)), context)


def _topics(subtopology: StreamsGroupDescribeSubtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    yield from subtopology.repartition_sink_topics
    yield from (info.name for info in subtopology.repartition_source_topics)
    yield from (info.name for info in subtopology.state_changelog_topics)


def _hidden(group_id: str) -> StreamsGroupDescribeResponseGroup:
    return StreamsGroupDescribeResponseGroup(
        group_id=group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="The described group uses topics that the client is not authorized to describe.",
    )


async def _describe(
    group_id: str, request: StreamsGroupDescribeRequest, context: RequestContext
) -> StreamsGroupDescribeResponseGroup:
    check_streams_groups_enabled(context.services)
    context.require(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id)
    if not group_id:
        raise InvalidGroupIdError
    groups, wanted = context.services.coordinators.groups, request.include_topology_description
    return await groups.streams_group_describe(group_id, with_description=wanted)
