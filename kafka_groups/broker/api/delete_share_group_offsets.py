"""DeleteShareGroupOffsets (key 92), v0: forgets topics of a share group without members (KIP-932).

The states of all their share-partitions are deleted. Topics with an error come last in the response, as in Kafka.
Errors of the group: UNSUPPORTED_VERSION (share.version=0), INVALID_GROUP_ID (empty), NOT_COORDINATOR,
GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. Error of a topic: UNKNOWN_TOPIC_OR_PARTITION (no such topic, or the group has no
state of it).
"""

from uuid import UUID

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_coordinator, check_share_groups_enabled
from kafka_groups.broker.requests.services import BrokerServices
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
        return await _delete(request, context.services)
    except BrokerError as error:
        return DeleteShareGroupOffsetsResponse(error_code=code_of(error), error_message=str(error))


async def _delete(request: DeleteShareGroupOffsetsRequest, services: BrokerServices) -> DeleteShareGroupOffsetsResponse:
    check_share_groups_enabled(services)
    if not request.group_id:
        raise InvalidGroupIdError
    check_coordinator(services, request.group_id)
    topics = {each.topic_name: services.metadata.topic(each.topic_name) for each in request.topics}
    ids = {name: topic.topic_id for name, topic in topics.items() if topic is not None}
    deleted = await services.groups.delete_start_offsets(request.group_id, ids.values())
    done = [_success(name, id_) for name, id_ in ids.items() if id_ in deleted]
    failed = [each.topic_name for each in request.topics if ids.get(each.topic_name) not in deleted]
    unknown = [_failure(name, _NO_TOPIC) for name in failed if name not in ids]
    without = [_failure(name, _NO_STATE) for name in dict.fromkeys(failed) if name in ids]
    return DeleteShareGroupOffsetsResponse(responses=(*done, *unknown, *without))


_NO_TOPIC = UnknownTopicOrPartitionError()
_NO_STATE = UnknownTopicOrPartitionError("There is no offset information to delete.")


def _success(name: str, topic_id: UUID) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)


def _failure(name: str, error: BrokerError) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, error_code=code_of(error), error_message=str(error))
