"""WriteShareGroupState (key 85), v0-v1: leaders of share-partitions persist changes (KIP-932, KIP-1226).

Errors per partition: CLUSTER_AUTHORIZATION_FAILED, NOT_COORDINATOR, INVALID_REQUEST (negative partition, no state),
UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.share_state import check_share_coordinator, each_settled
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteShareStatePartition,
)

__all__ = ["handle"]


async def handle(request: WriteShareGroupStateRequest, context: RequestContext) -> WriteShareGroupStateResponse:
    """Return one result for each share-partition."""
    services = context.services

    async def write(key: StateKey, partition: WriteShareStatePartition) -> None:
        context.require(AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER)
        check_share_coordinator(services, key)
        await outcome_of(partial(services.coordinators.share.write, key, partition))

    return WriteShareGroupStateResponse(results=await each_settled(request, write, context.turns))
