"""StreamsGroupTopologyDescriptionUpdate (key 93), v0: a member describes its topology for people to read (KIP-1331).

Brokers keep descriptions if `group.streams.topology.description.plugin.class` is set. They ask one member of a group
for it in the response to a heartbeat.

Errors: UNSUPPORTED_VERSION (descriptions are not kept; streams.version=0, or streams is not among
group.coordinator.rebalance.protocols), NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST (an id is empty,
the group has another topology epoch, a node's type is unknown), GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_streams_groups_enabled
from kafka_groups.errors import BrokerError, InvalidRequestError, UnsupportedVersionError
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)

__all__ = ["handle"]


async def handle(
    request: StreamsGroupTopologyDescriptionUpdateRequest, context: RequestContext
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    """Keep a description."""
    try:
        await _update(request, context)
    except BrokerError as error:
        return StreamsGroupTopologyDescriptionUpdateResponse(
            error_code=code_of(error), error_message=message_unless_refused(error)
        )
    return StreamsGroupTopologyDescriptionUpdateResponse()


async def _update(request: StreamsGroupTopologyDescriptionUpdateRequest, context: RequestContext) -> None:
    services = context.services
    check_streams_groups_enabled(services)
    context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
    if services.cluster.settings.streams_topology_description_plugin is None:
        raise UnsupportedVersionError(
            "The broker does not keep descriptions of topologies. To keep them, set "
            "group.streams.topology.description.plugin.class."
        )
    for name, value in (("member", request.member_id), ("group", request.group_id)):
        if not value:
            raise InvalidRequestError(f"The {name} id is empty.")
    await services.coordinators.groups.streams_group_topology_description_update(request)
