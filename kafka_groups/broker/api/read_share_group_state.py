"""ReadShareGroupState (key 84), v0: a leader reads the state of share-partitions when it begins (KIP-932).

Errors per partition: CLUSTER_AUTHORIZATION_FAILED, NOT_COORDINATOR, INVALID_REQUEST (negative partition, no state),
UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.share_state import check_share_coordinator, each_answered
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadShareStatePartition,
    ReadShareStatePartitionResult,
    ReadShareStateTopicResult,
)

__all__ = ["handle"]


async def handle(request: ReadShareGroupStateRequest, context: RequestContext) -> ReadShareGroupStateResponse:
    """Return the state of each share-partition."""

    async def read(key: StateKey, partition: ReadShareStatePartition) -> ReadShareStatePartitionResult:
        try:
            return await _read(key, partition.leader_epoch, context)
        except BrokerError as error:
            return ReadShareStatePartitionResult(partition=key[2], error_code=code_of(error), error_message=str(error))

    by_topic = await each_answered(request, read, context.turns)
    return ReadShareGroupStateResponse(
        results=tuple(
            ReadShareStateTopicResult(topic_id=topic_id, partitions=results) for topic_id, results in by_topic
        )
    )


async def _read(key: StateKey, leader_epoch: int, context: RequestContext) -> ReadShareStatePartitionResult:
    context.require(AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER)
    check_share_coordinator(context.services, key)
    state = await outcome_of(partial(context.services.coordinators.share.read, key, leader_epoch))
    return ReadShareStatePartitionResult(
        partition=key[2],
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=state.batches,
    )
