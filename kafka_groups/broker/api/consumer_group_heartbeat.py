"""ConsumerGroupHeartbeat (key 68), v0-v1: lets a member of a consumer group join, stay or leave (KIP-848).

Errors: UNSUPPORTED_VERSION (group.version=0, or consumer is not among group.coordinator.rebalance.protocols),
GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST
(an id is empty, an epoch below -2, or something is missing when joining), UNSUPPORTED_ASSIGNOR,
INVALID_REGULAR_EXPRESSION, GROUP_ID_NOT_FOUND (no such group, and the member is not joining; or the group is of another
type), UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.consumer.requests import validate
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_consumer_groups_enabled, require_described
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

__all__ = ["handle"]


async def handle(request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> ConsumerGroupHeartbeatResponse:
    """Return the member's epoch and, if it changed or the member may have lost it, its assignment."""
    try:
        return await _heartbeat(request, context)
    except BrokerError as error:
        return ConsumerGroupHeartbeatResponse(error_code=code_of(error), error_message=message_unless_refused(error))


async def _heartbeat(request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> ConsumerGroupHeartbeatResponse:
    services = context.services
    check_consumer_groups_enabled(services)
    context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
    require_described(request.subscribed_topic_names or (), context)
    validate(request, context.version, services.cluster.settings.consumer_assignors)
    may_describe = partial(context.may, AclOperation.DESCRIBE, AclResourceType.TOPIC)
    client = MemberClient(context.header.client_id or "", context.connection.host, may_describe)
    return await services.coordinators.groups.consumer_group_heartbeat(request, client, context.version)
