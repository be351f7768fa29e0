"""ReadShareGroupStateSummary (key 87), v0-v1: the group coordinator asks for start offsets (KIP-932, KIP-1226).

A share-partition without state has the start offset -1. Errors per partition: CLUSTER_AUTHORIZATION_FAILED,
NOT_COORDINATOR, INVALID_REQUEST (negative partition), UNKNOWN_TOPIC_OR_PARTITION.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.share_state import check_existing, check_share_coordinator, each_answered
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadShareStateSummaryPartitionResult,
    ReadShareStateSummaryTopicResult,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET

__all__ = ["handle"]


async def handle(
    request: ReadShareGroupStateSummaryRequest, context: RequestContext
) -> ReadShareGroupStateSummaryResponse:
    """Return the summary of each share-partition."""

    async def summary(key: StateKey, _partition: object) -> ReadShareStateSummaryPartitionResult:
        try:
            return await _summary(key, context)
        except BrokerError as error:
            return ReadShareStateSummaryPartitionResult(
                partition=key[2], error_code=code_of(error), error_message=str(error)
            )

    by_topic = await each_answered(request, summary, context.turns)
    return ReadShareGroupStateSummaryResponse(
        results=tuple(
            ReadShareStateSummaryTopicResult(topic_id=topic_id, partitions=results) for topic_id, results in by_topic
        )
    )


async def _summary(key: StateKey, context: RequestContext) -> ReadShareStateSummaryPartitionResult:
    context.require(AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER)
    services = context.services
    check_share_coordinator(services, key)
    check_existing(services, key)
    state = await outcome_of(partial(services.coordinators.share.summarize, key))
    if state is None:
        return ReadShareStateSummaryPartitionResult(partition=key[2], start_offset=UNINITIALIZED_OFFSET)
    return ReadShareStateSummaryPartitionResult(
        partition=key[2],
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
