"""ReadShareGroupStateSummary (key 87), v0-v1: the group coordinator asks for start offsets (KIP-932, KIP-1226).

A share-partition without state has the start offset -1. Errors per partition: NOT_COORDINATOR,
INVALID_REQUEST (negative partition), UNKNOWN_TOPIC_OR_PARTITION.
"""

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.coordinators.share_state.state import StateKey
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.requests.share_state import check_existing, check_share_coordinator, state_key
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadShareStateSummaryPartitionResult,
    ReadShareStateSummaryTopic,
    ReadShareStateSummaryTopicResult,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET

__all__ = ["handle"]


async def handle(
    request: ReadShareGroupStateSummaryRequest, context: RequestContext
) -> ReadShareGroupStateSummaryResponse:
    """Return the summary of each share-partition."""
    topics = request.topics if request.group_id else ()
    return ReadShareGroupStateSummaryResponse(
        results=tuple(_topic(request.group_id, topic, context.services) for topic in topics)
    )


def _topic(
    group_id: str, topic: ReadShareStateSummaryTopic, services: BrokerServices
) -> ReadShareStateSummaryTopicResult:
    return ReadShareStateSummaryTopicResult(
        topic_id=topic.topic_id,
        partitions=tuple(
            _summary_or_refusal(state_key(group_id, topic.topic_id, partition.partition), services)
            for partition in topic.partitions
        ),
    )


def _summary_or_refusal(key: StateKey, services: BrokerServices) -> ReadShareStateSummaryPartitionResult:
    try:
        check_share_coordinator(services, key)
        check_existing(services, key)
    except BrokerError as error:
        return ReadShareStateSummaryPartitionResult(
            partition=key[2], error_code=code_of(error), error_message=str(error)
        )
    state = services.share_coordinator.state(key)
    if state is None:
        return ReadShareStateSummaryPartitionResult(partition=key[2], start_offset=UNINITIALIZED_OFFSET)
    return ReadShareStateSummaryPartitionResult(
        partition=key[2],
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
