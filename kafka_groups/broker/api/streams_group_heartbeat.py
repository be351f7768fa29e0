"""StreamsGroupHeartbeat (key 88), v0-v1: lets a member of a streams group join, stay or leave (KIP-1071).

Errors: UNSUPPORTED_VERSION (streams.version=0, or streams is not among group.coordinator.rebalance.protocols),
GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST
(an id is empty, an epoch below -2, something is missing when joining, a task or topology that is not the group's),
STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND (no such group, and the member is not joining; or the group is of another
type), UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED,
UNKNOWN_SERVER_ERROR (the task assignor failed).
"""

from collections.abc import Iterator, Sequence
from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.requests import validate
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_streams_groups_enabled, require_described
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

__all__ = ["handle"]


async def handle(request: StreamsGroupHeartbeatRequest, context: RequestContext) -> StreamsGroupHeartbeatResponse:
    """Return the member's epoch, what keeps the group from working, and the member's tasks if they changed."""
    try:
        return await _heartbeat(request, context)
    except BrokerError as error:
        return StreamsGroupHeartbeatResponse(
            error_code=code_of(error), error_message=message_unless_refused(error), status=()
        )


async def _heartbeat(request: StreamsGroupHeartbeatRequest, context: RequestContext) -> StreamsGroupHeartbeatResponse:
    services = context.services
    check_streams_groups_enabled(services)
    context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
    require_described(_topics(request), context)
    validate(request, is_4_4=services.configs.profile.has_static_streams_members)
    client = MemberClient(context.header.client_id or "", context.connection.host)
    return await services.coordinators.groups.streams_group_heartbeat(
        request, client, context.version, partial(_uncreatable, context)
    )


def _topics(request: StreamsGroupHeartbeatRequest) -> Iterator[str]:
    for each in () if request.topology is None else request.topology.subtopologies:
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (info.name for info in each.repartition_source_topics)
        yield from (info.name for info in each.state_changelog_topics)


def _uncreatable(context: RequestContext, topics: Sequence[str]) -> Sequence[str]:
    """Return the internal topics that the client may not create."""
    # Who may create any topic need not have the right for each.
    if context.may(AclOperation.CREATE, AclResourceType.CLUSTER):
        return ()
    creatable = frozenset(context.visible(AclOperation.CREATE, AclResourceType.TOPIC, topics))
    return [topic for topic in topics if topic not in creatable]
