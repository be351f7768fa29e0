"""ShareAcknowledge (key 79), v1-v2: acknowledges records of a share session without fetching (KIP-932).

Epoch -1 closes the session after the acknowledgements and releases all records that the member still holds. With
`is_renew_ack` (v2) a request can renew locks (KIP-1222). The acknowledgements of one partition are applied all together
or not at all. The response does not contain partitions without acknowledgements.

Errors of the request: UNSUPPORTED_VERSION (share.version=0), GROUP_AUTHORIZATION_FAILED, INVALID_REQUEST (no group id,
invalid member id), SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH (also epoch 0).
Errors per partition: TOPIC_AUTHORIZATION_FAILED, INVALID_REQUEST (malformed batches, offsets past the acquired records,
renewal without `is_renew_ack`), INVALID_RECORD_STATE (not acquired by this member, lock expired, renewal disabled),
UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION (also if nothing was fetched from it), NOT_LEADER_OR_FOLLOWER with the
leader.
"""

from uuid import UUID

from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.leadership import node_endpoints
from kafka_groups.broker.requests.share_sessions import (
    AcknowledgementErrors,
    acknowledged,
    by_topic,
    close_session,
    leader_hint,
    listed_partitions,
    notify_changed,
    session_key,
    unreadable_partitions,
)
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP
from kafka_groups.broker.share_partitions.sessions import ShareSessionKey
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.share_acknowledge import (
    ShareAcknowledgePartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from kafka_groups.protocol.messages.share_fetch import FINAL_EPOCH
from kafka_groups.types import TopicIdPartition

__all__ = ["handle"]

_FIRST_WITH_LOCK_TIMEOUT = 2


async def handle(request: ShareAcknowledgeRequest, context: RequestContext) -> ShareAcknowledgeResponse:
    """Return the result of the acknowledgements of each partition."""
    try:
        key = session_key(request.group_id, request.member_id, context)
        context.services.share.begin_acknowledge(key, request.share_session_epoch)
    except BrokerError as error:
        return ShareAcknowledgeResponse(error_code=code_of(error), error_message=message_unless_refused(error))
    listed = await listed_partitions(request.topics, context)
    # A listed partition without batches has nothing to acknowledge, and the response leaves it out.
    acknowledgements = {partition: batches for partition, batches in listed.items() if batches}
    refused = unreadable_partitions(acknowledgements, context)
    allowed = {partition: batches for partition, batches in acknowledgements.items() if partition not in refused}
    errors = await acknowledged(key, allowed, context, is_renew_ack=request.is_renew_ack) | refused
    # KIP-932, "Share sessions": the acknowledgements first, then the release of what is left, as the member may have
    # accepted some of its records with this request.
    if request.share_session_epoch == FINAL_EPOCH:
        await close_session(key, context)
    notify_changed(context)
    return await _response(key, errors, context)


async def _response(
    key: ShareSessionKey, errors: AcknowledgementErrors, context: RequestContext
) -> ShareAcknowledgeResponse:
    services, turns = context.services, context.turns
    answers = {partition: _answer(partition, error, context) async for partition, error in turns.each(errors.items())}
    topics = await by_topic(answers, turns)
    config = services.share.group_config(key.group_id)
    return ShareAcknowledgeResponse(
        # The field came with version 2 (KIP-1222).
        acquisition_lock_timeout_ms=config.record_lock_duration_ms
        if context.version >= _FIRST_WITH_LOCK_TIMEOUT
        else 0,
        responses=tuple([_topic(topic_id, found) async for topic_id, found in turns.each(topics.items(), CHEAP)]),
        node_endpoints=node_endpoints(
            services.cluster.metadata, (answer.current_leader for answer in answers.values())
        ),
    )


def _topic(topic_id: UUID, partitions: tuple[ShareAcknowledgePartitionData, ...]) -> ShareAcknowledgeTopicResponse:
    return ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions)


def _answer(
    partition: TopicIdPartition, error: BrokerError | None, context: RequestContext
) -> ShareAcknowledgePartitionData:
    if error is None:
        return ShareAcknowledgePartitionData(partition_index=partition.partition)
    return ShareAcknowledgePartitionData(
        partition_index=partition.partition,
        error_code=code_of(error),
        error_message=message_unless_refused(error),
        current_leader=leader_hint(partition, error, context),
    )
