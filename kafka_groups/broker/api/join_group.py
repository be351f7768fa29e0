"""JoinGroup (key 11), v0-v9: lets a member join a classic group, and answers when the round of all members ends.

A static member (`group_instance_id`, v5) that was restarted gets a new id without a round, if nothing else has changed
(KIP-345). A new dynamic member gets an id first (v4, KIP-394).
Errors: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID,
INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL,
GROUP_MAX_SIZE_REACHED, REBALANCE_IN_PROGRESS.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.classic.replies import join_refused
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

__all__ = ["handle"]


async def handle(request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse:
    """Return the generation that the member is part of. The leader gets all members."""
    client = MemberClient(context.header.client_id or "", context.connection.host)
    try:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        return await context.services.coordinators.groups.join_group(request, client, context.version)
    except BrokerError as error:
        return join_refused(code_of(error), context.version, request.member_id)
