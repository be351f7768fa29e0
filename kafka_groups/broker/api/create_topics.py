"""CreateTopics (key 19), v2-v7: creates topics, or with `validate_only` only checks the request.

If the number of partitions or replicas is -1, the broker's defaults apply (`num.partitions`,
`default.replication.factor`). With a manual assignment, both must be -1. From v5, the response contains the topic's
size and configs.

Errors per topic: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST (topic listed twice; numbers together with an assignment).
"""

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.configs.entries import ConfigEntry, topic_entries
from kafka_groups.broker.metadata.changes import check_new_topic
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.requests.assignments import checked_replicas
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.config.topic import topic_config
from kafka_groups.errors import BrokerError, InvalidConfigError, InvalidReplicaAssignmentError, InvalidRequestError
from kafka_groups.protocol.messages.create_topics import (
    BROKER_DEFAULT,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

__all__ = ["handle"]


@frozen
class _TopicPlan:
    """A topic to create, with the defaults filled in."""

    num_partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    assignment: tuple[tuple[int, ...], ...]


async def handle(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    """Return one result for each topic."""
    times = Counter(topic.name for topic in request.topics)
    results: list[CreatableTopicResult] = []
    for topic in request.topics:
        if times[topic.name] > 1:
            results.append(_refusal(topic.name, InvalidRequestError("Duplicate topic name.")))
        else:
            results.append(_create_or_refuse(topic, context.services, validate_only=request.validate_only))
    return CreateTopicsResponse(topics=tuple({result.name: result for result in results}.values()))


def _create_or_refuse(topic: CreatableTopic, services: BrokerServices, *, validate_only: bool) -> CreatableTopicResult:
    metadata = services.metadata
    try:
        plan = _plan(topic, services)
        check_new_topic(metadata.image, topic.name, plan.num_partitions, plan.replication_factor)
    except BrokerError as error:
        return _refusal(topic.name, error)
    topic_id = None if validate_only else _create(topic.name, plan, metadata)
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        num_partitions=plan.num_partitions,
        replication_factor=plan.replication_factor,
        configs=tuple(_told(entry) for entry in topic_entries(services.configs, plan.configs)),
    )


def _create(name: str, plan: _TopicPlan, metadata: ClusterMetadata) -> UUID:
    created = metadata.create_topic(name, plan.num_partitions, plan.replication_factor, plan.configs, plan.assignment)
    return created.topic_id


def _refusal(name: str, error: BrokerError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=code_of(error), error_message=str(error))


def _plan(topic: CreatableTopic, services: BrokerServices) -> _TopicPlan:
    configs = _checked_configs(topic, services)
    if topic.assignments:
        assignment = _checked_assignment(topic, services)
        return _TopicPlan(len(assignment), len(assignment[0]), configs, assignment)
    settings = services.settings
    partitions = settings.num_partitions if topic.num_partitions == BROKER_DEFAULT else topic.num_partitions
    factor = (
        settings.default_replication_factor if topic.replication_factor == BROKER_DEFAULT else topic.replication_factor
    )
    return _TopicPlan(partitions, factor, configs, ())


def _checked_configs(topic: CreatableTopic, services: BrokerServices) -> dict[str, str]:
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise InvalidConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
    configs = {config.name: config.value for config in topic.configs if config.value is not None}
    topic_config(services.settings, configs)
    return configs


def _checked_assignment(topic: CreatableTopic, services: BrokerServices) -> tuple[tuple[int, ...], ...]:
    if topic.num_partitions != BROKER_DEFAULT or topic.replication_factor != BROKER_DEFAULT:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but numPartitions or replicationFactor was not set to -1."
        )
    by_partition = {given.partition_index: given.broker_ids for given in topic.assignments}
    if sorted(by_partition) != list(range(len(topic.assignments))):
        raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
    lists = [by_partition[partition] for partition in range(len(by_partition))]
    return tuple(checked_replicas(lists, services.metadata.brokers, factor=len(lists[0])))


def _told(entry: ConfigEntry) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.key.secret,
    )
