"""Metadata (key 3), v0-v13: returns the brokers, the controller, and topics with their leaders.

Topics are identified by name, or by id (v12). Null (v1) or an empty list (v0) means all topics. A topic with an unknown
but valid name is created if the request allows it (always before v4) and `auto.create.topics.enable` is set. The
response contains the new topic at once, whereas Kafka's client has to ask again. More topics than one CreateTopics
request may create are not created.

Without names, topics that the client may not describe are left out.

Errors per topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION,
INVALID_REPLICATION_FACTOR (of an automatic creation), INVALID_REQUEST (an id before v12, or neither a name nor an id).
Errors per partition: LEADER_NOT_AVAILABLE.
"""

from collections.abc import Iterable

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.broker.metadata.topics import NO_LEADER, BrokerEndpoint, PartitionMetadata, TopicMetadata
from kafka_groups.broker.requests.authorized_operations import cluster_operations, topic_operations
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

DESCRIBE, TOPIC = AclOperation.DESCRIBE, AclResourceType.TOPIC


async def handle(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    """Return brokers and topics."""
    metadata, topics = context.services.cluster.metadata, await _topics(request, context)
    return MetadataResponse(
        brokers=tuple(_broker(broker) for broker in metadata.brokers.values()),
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id,
        topics=topics,
        cluster_authorized_operations=cluster_operations(context)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def _broker(broker: BrokerEndpoint) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)


async def _topics(request: MetadataRequest, context: RequestContext) -> tuple[MetadataResponseTopic, ...]:
    turns, has_operations = context.turns, request.include_topic_authorized_operations
    # Version 0 has no null, and asks for all topics with an empty list (KafkaApis.handleTopicMetadataRequest in Kafka).
    if request.topics is None or (context.version == 0 and not request.topics):
        known = turns.each(context.services.cluster.metadata.topics())
        visible = [topic async for topic in known if context.may(DESCRIBE, TOPIC, topic.name)]
        return tuple([await _topic(topic, context, has_operations=has_operations) for topic in visible])
    wanted = {topic: None async for topic in turns.each(request.topics, CHEAP)}
    # Both the client and the broker must want it. In Kafka, a topic exists only a moment after the first response.
    may_create = request.allow_auto_topic_creation and await _may_create(wanted, context)
    each = turns.each(wanted, COSTLY if may_create else USUAL)
    found = [(topic, _find_or_error(topic, context, may_create=may_create)) async for topic in each]
    return tuple([await _told(topic, known, context, has_operations=has_operations) for topic, known in found])


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


def _find_or_error(
    wanted: MetadataRequestTopic, context: RequestContext, *, may_create: bool
) -> TopicMetadata | BrokerError:
    try:
        return _find_or_create(wanted, context, may_create=may_create)
    except BrokerError as error:
        return error


async def _told(
    wanted: MetadataRequestTopic, known: TopicMetadata | BrokerError, context: RequestContext, *, has_operations: bool
) -> MetadataResponseTopic:
    if isinstance(known, TopicMetadata):
        return await _topic(known, context, has_operations=has_operations)
    # As in Kafka, an unknown id is returned without the name that the request gives with it, and so is one of a topic
    # that the client may not describe.
    name = wanted.name if wanted.topic_id is None else None
    if name is None and context.version < _FIRST_WITH_TOPIC_IDS:
        name = ""  # null is for v12
    return MetadataResponseTopic(error_code=code_of(known), name=name, topic_id=wanted.topic_id)


def _find_or_create(wanted: MetadataRequestTopic, context: RequestContext, *, may_create: bool) -> TopicMetadata:
    # Versions 10 and 11 have a field for the id, which requests may not use yet (KafkaApis.handleTopicMetadataRequest).
    if context.version < _FIRST_WITH_TOPIC_IDS and (wanted.topic_id is not None or wanted.name is None):
        raise InvalidRequestError(f"Metadata v{context.version} does not support topic ids.")
    if wanted.topic_id is None and wanted.name is None:
        raise InvalidRequestError("A topic has neither a name nor an id.")
    metadata, name = context.services.cluster.metadata, wanted.name or ""
    # An id cannot be illegal, only unknown. A topic that is asked for by its id is never created.
    if wanted.topic_id is not None:
        topic = topic_by_id_or_name(metadata, wanted.topic_id, name)
        context.require(DESCRIBE, TOPIC, topic.name)
        return topic
    # Without the right, nobody learns which names exist, or are valid (KafkaApis.getTopicMetadata in Kafka).
    context.require(DESCRIBE, TOPIC, name)
    check_topic_name(name)
    try:
        return topic_by_id_or_name(metadata, None, name)
    except UnknownTopicOrPartitionError:
        if not may_create:
            raise
    return _create(name, context)


def _create(name: str, context: RequestContext) -> TopicMetadata:
    if not context.may(AclOperation.CREATE, AclResourceType.CLUSTER):
        context.require(AclOperation.CREATE, TOPIC, name)
    cluster = context.services.cluster
    settings = cluster.settings
    return cluster.metadata.create_topic(name, settings.num_partitions, settings.default_replication_factor)


async def _topic(topic: TopicMetadata, context: RequestContext, *, has_operations: bool) -> MetadataResponseTopic:
    metadata, partitions = context.services.cluster.metadata, context.turns.each(topic.partitions)
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple([_partition(partition, metadata) async for partition in partitions]),
        topic_authorized_operations=topic_operations(context, topic.name) if has_operations else NOT_ASKED,
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
