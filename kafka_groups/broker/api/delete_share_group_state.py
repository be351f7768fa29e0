"""DeleteShareGroupState (key 86), v0: the group coordinator has the state of share-partitions deleted (KIP-932).

A partition without state causes no error. Errors per partition: CLUSTER_AUTHORIZATION_FAILED, NOT_COORDINATOR,
INVALID_REQUEST (negative partition), UNKNOWN_TOPIC_OR_PARTITION.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.share_state import check_existing, check_share_coordinator, each_settled
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteShareStatePartition,
)

__all__ = ["handle"]


async def handle(request: DeleteShareGroupStateRequest, context: RequestContext) -> DeleteShareGroupStateResponse:
    """Return one result for each share-partition."""
    services = context.services

    async def delete(key: StateKey, _partition: DeleteShareStatePartition) -> None:
        context.require(AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER)
        check_share_coordinator(services, key)
        check_existing(services, key)
        await outcome_of(partial(services.coordinators.share.delete, key))

    return DeleteShareGroupStateResponse(results=await each_settled(request, delete, context.turns))
