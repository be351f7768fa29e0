"""DescribeProducers (key 61), v0: the idempotent and transactional producers of partitions (KIP-664).

Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER.
"""

from collections.abc import Iterator

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.configs.effective import append_rules
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.leadership import led_partition, topic_by_id_or_name
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.describe_producers import (
    ActiveProducer,
    DescribeProducersRequest,
    DescribeProducersRequestTopic,
    DescribeProducersResponse,
    DescribeProducersResponsePartition,
    DescribeProducersResponseTopic,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["handle"]

_NO_SEQUENCE = -1
_NO_OFFSET = -1


async def handle(request: DescribeProducersRequest, context: RequestContext) -> DescribeProducersResponse:
    """Return the producers of each partition."""
    return DescribeProducersResponse(
        topics=tuple([await _of_topic(topic, context) async for topic in context.turns.each(request.topics)])
    )


async def _of_topic(topic: DescribeProducersRequestTopic, context: RequestContext) -> DescribeProducersResponseTopic:
    indexes = context.turns.each(topic.partition_indexes)
    partitions = [_of_partition(topic.name, index, context) async for index in indexes]
    return DescribeProducersResponseTopic(name=topic.name, partitions=tuple(partitions))


def _of_partition(name: str, index: int, context: RequestContext) -> DescribeProducersResponsePartition:
    services = context.services
    try:
        context.require(AclOperation.READ, AclResourceType.TOPIC, name)
        topic = topic_by_id_or_name(services.cluster.metadata, None, name)
        led_partition(services, topic, index)
    except BrokerError as error:
        return DescribeProducersResponsePartition(
            partition_index=index, error_code=code_of(error), error_message=str(error)
        )
    return DescribeProducersResponsePartition(
        partition_index=index, active_producers=tuple(_producers(topic.topic_id_partition(index), name, context))
    )


def _producers(partition: TopicIdPartition, topic: str, context: RequestContext) -> Iterator[ActiveProducer]:
    services = context.services
    producers = services.cluster.logs.get(partition.topic_id, partition.partition).producers
    expiration_ms = append_rules(services.configs, topic).producer_expiration_ms
    # A producer that has expired may still be in memory, see `ProducerStates.check`.
    for producer_id, state in producers.active(expiration_ms, context.wall_ms):
        first_offset = producers.transactions.first_offset_of(producer_id)
        yield ActiveProducer(
            producer_id=producer_id,
            producer_epoch=state.epoch,
            last_sequence=state.batches[-1].last_sequence if state.batches else _NO_SEQUENCE,
            last_timestamp=state.last_timestamp_ms,
            coordinator_epoch=state.coordinator_epoch,
            current_txn_start_offset=_NO_OFFSET if first_offset is None else first_offset,
        )
