"""OffsetDelete (key 47), v0: forgets committed offsets of a group (KIP-496).

Errors: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID (an empty group id),
GROUP_ID_NOT_FOUND (no such group, or one of another type), NON_EMPTY_GROUP (its members do not tell their topics).
Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, GROUP_SUBSCRIBED_TO_TOPIC.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.committed_offsets import in_slices
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_coordinator
from kafka_groups.errors import BrokerError, GroupSubscribedToTopicError, InvalidGroupIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

_NO_RIGHT = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def handle(request: OffsetDeleteRequest, context: RequestContext) -> OffsetDeleteResponse:
    """Return one result for each partition, or one error."""
    try:
        context.require(AclOperation.DELETE, AclResourceType.GROUP, request.group_id)
        # See GroupCoordinatorService.deleteOffsets in Kafka.
        if not request.group_id:
            raise InvalidGroupIdError
        check_coordinator(context.services, request.group_id)
        each = context.turns.each(request.topics)
        return OffsetDeleteResponse(
            topics=tuple([await _topic(request.group_id, topic, context) async for topic in each])
        )
    except BrokerError as error:
        return OffsetDeleteResponse(error_code=code_of(error))


async def _topic(group_id: str, topic: OffsetDeleteRequestTopic, context: RequestContext) -> OffsetDeleteResponseTopic:
    if not context.may(AclOperation.READ, AclResourceType.TOPIC, topic.name):
        refused = (_result(each.partition_index, _NO_RIGHT) for each in topic.partitions)
        return OffsetDeleteResponseTopic(name=topic.name, partitions=tuple(refused))
    known = context.services.cluster.metadata.topic(topic.name)
    num_partitions = 0 if known is None else known.num_partitions
    results: list[OffsetDeleteResponsePartition] = []
    async for some in in_slices([partition.partition_index for partition in topic.partitions], context.turns):
        existing = [TopicPartition(topic.name, index) for index in some if 0 <= index < num_partitions]
        error = await _delete(group_id, existing, context)
        results += [_result(index, error if 0 <= index < num_partitions else _UNKNOWN) for index in some]
    return OffsetDeleteResponseTopic(name=topic.name, partitions=tuple(results))


async def _delete(group_id: str, partitions: list[TopicPartition], context: RequestContext) -> ErrorCode:
    try:
        await context.services.coordinators.groups.delete_offsets(group_id, partitions)
    except GroupSubscribedToTopicError as error:
        # This error is about one topic. Any other one is about the group, and ends the request.
        return code_of(error)
    return ErrorCode.NONE


def _result(index: int, error: ErrorCode) -> OffsetDeleteResponsePartition:
    return OffsetDeleteResponsePartition(partition_index=index, error_code=error)
