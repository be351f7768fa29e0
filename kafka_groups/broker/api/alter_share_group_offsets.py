"""AlterShareGroupOffsets (key 91), v0: sets the start offsets of a share group without members (KIP-932).

The states of these share-partitions begin afresh: all their records are available again, with no deliveries counted. A
group that does not exist is made. As in Kafka, the start offset -1 stands for the group's `share.auto.offset.reset`,
and no other number is refused. Errors of the group: UNSUPPORTED_VERSION (share.version=0),
GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID (empty),
NOT_COORDINATOR, NON_EMPTY_GROUP, UNKNOWN_SERVER_ERROR (a negative partition). Errors of a partition:
TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION.
"""

from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.refusals import refusal_of
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_coordinator, check_share_groups_enabled
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, CooperativeYield
from kafka_groups.errors import BrokerError, InvalidGroupIdError, UnknownServerError, UnknownTopicOrPartitionError
from kafka_groups.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

__all__ = ["handle"]

_NO_TOPIC, _NO_RIGHT = UnknownTopicOrPartitionError(), refusal_of(AclResourceType.TOPIC)
_Wanted = dict[str, list[AlterShareGroupOffsetsRequestPartition]]


async def handle(request: AlterShareGroupOffsetsRequest, context: RequestContext) -> AlterShareGroupOffsetsResponse:
    """Return one result for each partition. A topic that is listed twice is one topic, and the last offset counts."""
    try:
        return await _alter(request, context)
    except BrokerError as error:
        return AlterShareGroupOffsetsResponse(error_code=code_of(error), error_message=str(error))


async def _alter(request: AlterShareGroupOffsetsRequest, context: RequestContext) -> AlterShareGroupOffsetsResponse:
    services, each = context.services, context.turns.each
    check_share_groups_enabled(services)
    context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
    if not request.group_id:
        raise InvalidGroupIdError
    check_coordinator(services, request.group_id)
    wanted: _Wanted = {}
    async for topic in each(request.topics, CHEAP):
        wanted.setdefault(topic.topic_name, []).extend(topic.partitions)
    readable = context.visible(AclOperation.READ, AclResourceType.TOPIC, wanted)
    topics = {
        name: known async for name in each(readable) if (known := services.cluster.metadata.topic(name)) is not None
    }
    offsets = await _offsets(request.group_id, wanted, topics, context.turns)
    names = {topic.topic_id: name for name, topic in topics.items()}
    # A request whose topics are all unknown changes nothing, and does not create the group.
    if topics:
        await services.coordinators.groups.alter_start_offsets(request.group_id, offsets, names)
    return AlterShareGroupOffsetsResponse(
        responses=tuple(
            [
                await _result(
                    name, partitions, topics.get(name, _NO_TOPIC if name in readable else _NO_RIGHT), context.turns
                )
                async for name, partitions in each(wanted.items())
            ]
        )
    )


async def _offsets(
    group_id: str, wanted: _Wanted, topics: dict[str, TopicMetadata], turns: CooperativeYield
) -> dict[tuple[UUID, int], int]:
    offsets: dict[tuple[UUID, int], int] = {}
    for name, topic in topics.items():
        async for partition in turns.each(wanted[name]):
            # Kafka fails on a negative number, and so does the whole request.
            if partition.partition_index < 0:
                raise UnknownServerError(f"Group '{group_id}': {name} has no partition {partition.partition_index}.")
            # Offsets of partitions that do not exist are left out. Each gets an error of its own in the response.
            if partition.partition_index < topic.num_partitions:
                offsets[topic.topic_id, partition.partition_index] = partition.start_offset
    return offsets


async def _result(
    name: str,
    partitions: list[AlterShareGroupOffsetsRequestPartition],
    topic: TopicMetadata | BrokerError,
    turns: CooperativeYield,
) -> AlterShareGroupOffsetsResponseTopic:
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=name,
        topic_id=None if isinstance(topic, BrokerError) else topic.topic_id,
        partitions=tuple([_partition_result(each.partition_index, topic) async for each in turns.each(partitions)]),
    )


def _partition_result(index: int, topic: TopicMetadata | BrokerError) -> AlterShareGroupOffsetsResponsePartition:
    if isinstance(topic, TopicMetadata) and index < topic.num_partitions:
        return AlterShareGroupOffsetsResponsePartition(partition_index=index)
    error = topic if isinstance(topic, BrokerError) else _NO_TOPIC
    return AlterShareGroupOffsetsResponsePartition(
        partition_index=index, error_code=code_of(error), error_message=str(error)
    )
