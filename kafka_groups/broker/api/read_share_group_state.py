"""ReadShareGroupState (key 84), v0: a leader reads the state of share-partitions when it begins (KIP-932).

Errors per partition: NOT_COORDINATOR, INVALID_REQUEST (negative partition, no state), UNKNOWN_TOPIC_OR_PARTITION,
FENCED_LEADER_EPOCH.
"""

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.coordinators.share_state.state import StateKey
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.requests.share_state import check_known, check_share_coordinator, state_key
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadShareStatePartitionResult,
    ReadShareStateTopic,
    ReadShareStateTopicResult,
)

__all__ = ["handle"]


async def handle(request: ReadShareGroupStateRequest, context: RequestContext) -> ReadShareGroupStateResponse:
    """Return the state of each share-partition."""
    topics = request.topics if request.group_id else ()
    return ReadShareGroupStateResponse(
        results=tuple(_topic(request.group_id, topic, context.services) for topic in topics)
    )


def _topic(group_id: str, topic: ReadShareStateTopic, services: BrokerServices) -> ReadShareStateTopicResult:
    return ReadShareStateTopicResult(
        topic_id=topic.topic_id,
        partitions=tuple(
            _read_or_refuse(state_key(group_id, topic.topic_id, partition.partition), partition.leader_epoch, services)
            for partition in topic.partitions
        ),
    )


def _read_or_refuse(key: StateKey, leader_epoch: int, services: BrokerServices) -> ReadShareStatePartitionResult:
    try:
        check_share_coordinator(services, key)
        check_known(services, key)
        state = services.share_coordinator.read(key, leader_epoch)
    except BrokerError as error:
        return ReadShareStatePartitionResult(partition=key[2], error_code=code_of(error), error_message=str(error))
    return ReadShareStatePartitionResult(
        partition=key[2],
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=state.batches,
    )
