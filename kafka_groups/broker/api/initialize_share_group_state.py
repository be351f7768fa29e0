"""InitializeShareGroupState (key 83), v0: the group coordinator has the state of share-partitions created (KIP-932).

As in Kafka, a state that exists begins afresh, also at an equal state epoch. But the brokers of this cluster may ask
twice, if an answer was lost: a state that exists is not touched for them. Errors per partition:
CLUSTER_AUTHORIZATION_FAILED, NOT_COORDINATOR, INVALID_REQUEST (negative partition), UNKNOWN_TOPIC_OR_PARTITION,
FENCED_STATE_EPOCH.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.share_state import check_existing, check_share_coordinator, each_settled
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeShareStatePartition,
)

__all__ = ["handle"]


async def handle(
    request: InitializeShareGroupStateRequest, context: RequestContext
) -> InitializeShareGroupStateResponse:
    """Return one result for each share-partition."""
    services = context.services

    async def initialize(key: StateKey, partition: InitializeShareStatePartition) -> None:
        context.require(AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER)
        check_share_coordinator(services, key)
        check_existing(services, key)
        coordinator = services.coordinators.share
        begin = coordinator.create if context.connection.is_peer else coordinator.initialize
        await outcome_of(partial(begin, key, partition.state_epoch, partition.start_offset))

    return InitializeShareGroupStateResponse(results=await each_settled(request, initialize, context.turns))
