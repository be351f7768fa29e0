"""DeleteShareGroupOffsets (key 92), v0: forgets topics of a share group without members (KIP-932).

The states of all their share-partitions are deleted. Topics with an error come last in the response, as in Kafka.
Errors of the group: UNSUPPORTED_VERSION (share.version=0), GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID (empty),
NOT_COORDINATOR, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. Errors of a topic: TOPIC_AUTHORIZATION_FAILED,
UNKNOWN_TOPIC_OR_PARTITION (no such topic, or the group has no state of it).
"""

from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.refusals import refusal_of
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_coordinator, check_share_groups_enabled
from kafka_groups.errors import BrokerError, InvalidGroupIdError, UnknownTopicOrPartitionError
from kafka_groups.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

__all__ = ["handle"]


async def handle(request: DeleteShareGroupOffsetsRequest, context: RequestContext) -> DeleteShareGroupOffsetsResponse:
    """Return one result for each topic."""
    try:
        return await _delete(request, context)
    except BrokerError as error:
        return DeleteShareGroupOffsetsResponse(error_code=code_of(error), error_message=str(error))


async def _delete(request: DeleteShareGroupOffsetsRequest, context: RequestContext) -> DeleteShareGroupOffsetsResponse:
    services, each = context.services, context.turns.each
    check_share_groups_enabled(services)
    context.require(AclOperation.DELETE, AclResourceType.GROUP, request.group_id)
    if not request.group_id:
        raise InvalidGroupIdError
    check_coordinator(services, request.group_id)
    names = [topic.topic_name async for topic in each(request.topics)]
    readable = frozenset(context.visible(AclOperation.READ, AclResourceType.TOPIC, names))
    topics = {name: services.cluster.metadata.topic(name) async for name in each(names) if name in readable}
    ids = {name: topic.topic_id for name, topic in topics.items() if topic is not None}
    deleted = await services.coordinators.groups.delete_start_offsets(request.group_id, ids.values())
    done = [_success(name, id_) async for name, id_ in each(ids.items()) if id_ in deleted]
    failed = [topic.topic_name for topic in request.topics if ids.get(topic.topic_name) not in deleted]
    # Kafka finds topics that do not exist before it asks the group, one answer for each time that they are listed, and
    # those without a state afterwards.
    unknown = [
        _failure(name, _NO_TOPIC if name in readable else _NO_RIGHT) async for name in each(failed) if name not in ids
    ]
    without = [_failure(name, _NO_STATE) async for name in each(dict.fromkeys(failed)) if name in ids]
    return DeleteShareGroupOffsetsResponse(responses=(*done, *unknown, *without))


_NO_TOPIC = UnknownTopicOrPartitionError("This server does not host this topic-partition.")
_NO_RIGHT = refusal_of(AclResourceType.TOPIC)
_NO_STATE = UnknownTopicOrPartitionError("There is no offset information to delete.")


def _success(name: str, topic_id: UUID) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)


def _failure(name: str, error: BrokerError) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, error_code=code_of(error), error_message=str(error))
