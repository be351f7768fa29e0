"""Metadata (key 3), v0-v13: returns the brokers, the controller, and topics with their leaders.

Topics are identified by name, or by id (v12). Null (v1) or an empty list (v0) means all topics. A topic with an unknown
but valid name is created if the request allows it (always before v4) and `auto.create.topics.enable` is set. The
response contains the new topic at once, whereas Kafka's client has to ask again. More topics than one CreateTopics
request may create are not created.

Errors per topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION, INVALID_REPLICATION_FACTOR
(of an automatic creation), INVALID_REQUEST (an id before v12, or neither a name nor an id).
Errors per partition: LEADER_NOT_AVAILABLE.
"""

from collections.abc import Iterable

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.broker.metadata.topics import NO_LEADER, BrokerEndpoint, PartitionMetadata, TopicMetadata
from kafka_groups.broker.requests.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from kafka_groups.broker.requests.batch_limits import check_new_partitions_of_topics, check_records
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY, USUAL
from kafka_groups.errors import BrokerError, InvalidRequestError, PolicyViolationError, UnknownTopicOrPartitionError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED
from kafka_groups.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

__all__ = ["handle"]

_FIRST_WITH_TOPIC_IDS = 12


async def handle(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    """Return brokers and topics."""
    metadata = context.services.cluster.metadata
    return MetadataResponse(
        brokers=tuple(_broker(broker) for broker in metadata.brokers.values()),
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id,
        topics=await _topics(request, context),
        cluster_authorized_operations=CLUSTER_OPERATIONS
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def _broker(broker: BrokerEndpoint) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)


async def _topics(request: MetadataRequest, context: RequestContext) -> tuple[MetadataResponseTopic, ...]:
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
    turns = context.turns
    # Version 0 has no null, and asks for all topics with an empty list (KafkaApis.handleTopicMetadataRequest in Kafka).
    if request.topics is None or (context.version == 0 and not request.topics):
        known = turns.each(context.services.cluster.metadata.topics())
        return tuple([await _topic(topic, context, operations) async for topic in known])
    wanted = {topic: None async for topic in turns.each(request.topics, CHEAP)}
    # Both the client and the broker must want it. In Kafka, a topic exists only a moment after the first response.
    may_create = request.allow_auto_topic_creation and await _may_create(wanted, context)
    each = turns.each(wanted, COSTLY if may_create else USUAL)
    return tuple([await _find_or_refuse(topic, context, operations, may_create=may_create) async for topic in each])


async def _may_create(wanted: Iterable[MetadataRequestTopic], context: RequestContext) -> bool:
    """Return whether unknown topics are created. As in Kafka, they remain unknown if they are too many."""
    services = context.services
    if not services.cluster.settings.auto_create_topics_enable:
        return False
    each = services.cluster.settings.num_partitions
    named = [topic.name async for topic in context.turns.each(wanted, CHEAP) if topic.name is not None]
    unknown = len(
        [name async for name in context.turns.each(named, CHEAP) if services.cluster.metadata.topic(name) is None]
    )
    try:
        check_new_partitions_of_topics([each * unknown])
        check_records([(1 + each) * unknown])
    except PolicyViolationError:
        return False
    return True


async def _find_or_refuse(
    wanted: MetadataRequestTopic, context: RequestContext, operations: int, *, may_create: bool
) -> MetadataResponseTopic:
    try:
        topic = _find_or_create(wanted, context, may_create=may_create)
    except BrokerError as error:
        # As in Kafka, an unknown id is returned without the name that the request gives with it.
        name = wanted.name if wanted.topic_id is None else None
        if name is None and context.version < _FIRST_WITH_TOPIC_IDS:
            name = ""  # null is for v12
        return MetadataResponseTopic(error_code=code_of(error), name=name, topic_id=wanted.topic_id)
    return await _topic(topic, context, operations)


def _find_or_create(wanted: MetadataRequestTopic, context: RequestContext, *, may_create: bool) -> TopicMetadata:
    # Versions 10 and 11 have a field for the id, which requests may not use yet (KafkaApis.handleTopicMetadataRequest).
    if context.version < _FIRST_WITH_TOPIC_IDS and (wanted.topic_id is not None or wanted.name is None):
        raise InvalidRequestError(f"Metadata v{context.version} does not support topic ids.")
    if wanted.topic_id is None and wanted.name is None:
        raise InvalidRequestError("A topic has neither a name nor an id.")
    # An id cannot be illegal, only unknown.
    if wanted.topic_id is None:
        check_topic_name(wanted.name or "")
    try:
        return topic_by_id_or_name(context.services.cluster.metadata, wanted.topic_id, wanted.name or "")
    except UnknownTopicOrPartitionError:
        # A topic that is asked for by its id is never created: UNKNOWN_TOPIC_ID is another error.
        if not may_create:
            raise
    return _create(wanted.name or "", context)


def _create(name: str, context: RequestContext) -> TopicMetadata:
    cluster = context.services.cluster
    settings = cluster.settings
    return cluster.metadata.create_topic(name, settings.num_partitions, settings.default_replication_factor)


async def _topic(topic: TopicMetadata, context: RequestContext, operations: int) -> MetadataResponseTopic:
    metadata, partitions = context.services.cluster.metadata, context.turns.each(topic.partitions)
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple([_partition(partition, metadata) async for partition in partitions]),
        topic_authorized_operations=operations,
    )


def _partition(partition: PartitionMetadata, metadata: ClusterMetadata) -> MetadataResponsePartition:
    alive = metadata.brokers
    return MetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.leader_id == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.partition,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=tuple(node_id for node_id in partition.replicas if node_id in alive),
        offline_replicas=tuple(node_id for node_id in partition.replicas if node_id not in alive),
    )
