"""CreateTopics (key 19), v2-v7: creates topics, or with `validate_only` only checks the request.

If the number of partitions or replicas is -1, the broker's defaults apply (`num.partitions`,
`default.replication.factor`). With a manual assignment, both must be -1. From v5, the response contains the topic's
size and configs; without the right to see them, TOPIC_AUTHORIZATION_FAILED in their place.

Errors per topic: TOPIC_AUTHORIZATION_FAILED, TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS,
INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST (topic listed twice; numbers
together with an assignment). All topics get POLICY_VIOLATION if they have more than 10,000 partitions together, or if
topics, configs and partitions together are more than 10,000.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from attrs import frozen

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.configs.config_entries import ConfigEntry, topic_entries
from kafka_groups.broker.metadata.changes import check_new_topic
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.requests.batch_limits import check_new_partitions_of_topics, check_records
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.replica_assignment import checked_replicas
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY, USUAL
from kafka_groups.config.cluster.topic import topic_config
from kafka_groups.errors import (
    BrokerError,
    InvalidConfigError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    PolicyViolationError,
    TopicAuthorizationFailedError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_topics import (
    BROKER_DEFAULT,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

__all__ = ["handle"]

_NO_RIGHT = "Authorization failed."


@frozen
class _TopicPlan:
    """A topic to create, with the defaults filled in."""

    num_partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    assignment: tuple[tuple[int, ...], ...]

    @property
    def records(self) -> int:
        """The number of records that Kafka's controller writes for the topic."""
        return 1 + len(self.configs) + self.num_partitions


async def handle(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    """Return one result for each topic."""
    times = Counter(topic.name for topic in request.topics)
    # A topic that is listed twice is not created at all: it would not be clear which of the two is meant
    # (ControllerApis.createTopics in Kafka).
    once = [topic for topic in request.topics if times[topic.name] == 1]
    creatable = _creatable([topic.name for topic in once], context)
    describable = frozenset(
        context.visible(AclOperation.DESCRIBE_CONFIGS, AclResourceType.TOPIC, [topic.name for topic in once])
    )
    try:
        plans = await _plans([topic for topic in once if topic.name in creatable], context)
    except PolicyViolationError as error:
        refused = [_refusal(topic.name, error) async for topic in context.turns.each(request.topics)]
        return CreateTopicsResponse(topics=tuple(refused))
    # What has no plan was listed twice, or may not be created.
    plans |= {topic.name: TopicAuthorizationFailedError(_NO_RIGHT) for topic in once if topic.name not in creatable}
    results: dict[str, CreatableTopicResult] = {}
    async for name in context.turns.each(times, COSTLY):
        plan = plans.get(name, InvalidRequestError("Duplicate topic name."))
        created = _create_or_refuse(name, plan, context, validate_only=request.validate_only)
        results[name] = created if name in describable else _without_configs(created)
    return CreateTopicsResponse(topics=tuple(results.values()))


def _creatable(names: Sequence[str], context: RequestContext) -> frozenset[str]:
    # Who may create any topic need not have the right for each.
    if context.may(AclOperation.CREATE, AclResourceType.CLUSTER):
        return frozenset(names)
    return frozenset(context.visible(AclOperation.CREATE, AclResourceType.TOPIC, names))


def _without_configs(created: CreatableTopicResult) -> CreatableTopicResult:
    """Return a result for a client that may create a topic, and may not see its configs."""
    if created.error_code:
        return created
    return CreatableTopicResult(
        name=created.name,
        topic_id=created.topic_id,
        topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        configs=(),
    )


async def _plans(topics: Sequence[CreatableTopic], context: RequestContext) -> dict[str, _TopicPlan | BrokerError]:
    """Return what to create, or why not, for each topic.

    Raises:
        PolicyViolationError: The request is too large.
    """
    each = context.turns.each
    # Kafka looks at the number of partitions before anything else, and at the number of records when it has made them.
    # Both limits refuse the whole request.
    check_new_partitions_of_topics([_asked_partitions(topic, context) async for topic in each(topics, CHEAP)])
    plans = {topic.name: _plan_or_error(topic, context) async for topic in each(topics, 2 * USUAL)}
    check_records(plan.records for plan in plans.values() if isinstance(plan, _TopicPlan))
    return plans


def _asked_partitions(topic: CreatableTopic, context: RequestContext) -> int:
    # A manual assignment says how many partitions there are. The number in the request has to be -1.
    if topic.assignments:
        return len(topic.assignments)
    default = context.services.cluster.settings.num_partitions
    return default if topic.num_partitions == BROKER_DEFAULT else topic.num_partitions


def _plan_or_error(topic: CreatableTopic, context: RequestContext) -> _TopicPlan | BrokerError:
    try:
        plan = _plan(topic, context)
        image = context.services.cluster.metadata.image
        check_new_topic(image, topic.name, plan.num_partitions, plan.replication_factor)
    except BrokerError as error:
        return error
    return plan


def _create_or_refuse(
    name: str, plan: _TopicPlan | BrokerError, context: RequestContext, *, validate_only: bool
) -> CreatableTopicResult:
    if isinstance(plan, BrokerError):
        return _refusal(name, plan)
    try:
        # A request that only validates gets everything but an id.
        topic_id = None if validate_only else _create(name, plan, context.services.cluster.metadata)
    except BrokerError as error:  # it collides with another topic, in the request or just created
        return _refusal(name, error)
    return CreatableTopicResult(
        name=name,
        topic_id=topic_id,
        num_partitions=plan.num_partitions,
        replication_factor=plan.replication_factor,
        configs=tuple(_told(entry) for entry in topic_entries(context.services.configs, plan.configs)),
    )


def _create(name: str, plan: _TopicPlan, metadata: ClusterMetadata) -> UUID:
    created = metadata.create_topic(name, plan.num_partitions, plan.replication_factor, plan.configs, plan.assignment)
    return created.topic_id


def _refusal(name: str, error: BrokerError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=code_of(error), error_message=str(error))


def _plan(topic: CreatableTopic, context: RequestContext) -> _TopicPlan:
    configs = _checked_configs(topic, context)
    if topic.assignments:
        assignment = _checked_assignment(topic, context)
        return _TopicPlan(len(assignment), len(assignment[0]), configs, assignment)
    default_factor = context.services.cluster.settings.default_replication_factor
    factor = default_factor if topic.replication_factor == BROKER_DEFAULT else topic.replication_factor
    return _TopicPlan(_asked_partitions(topic, context), factor, configs, ())


def _checked_configs(topic: CreatableTopic, context: RequestContext) -> dict[str, str]:
    nulls = [config.name for config in topic.configs if config.value is None]
    # A new topic has no value yet that null could reset.
    if nulls:
        raise InvalidConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
    configs = {config.name: config.value for config in topic.configs if config.value is not None}
    context.services.cluster.profile.check_topic_keys(configs)
    topic_config(context.services.cluster.settings, configs)
    return configs


def _checked_assignment(topic: CreatableTopic, context: RequestContext) -> tuple[tuple[int, ...], ...]:
    # Two statements about the same numbers could contradict each other, so only one is allowed.
    if topic.num_partitions != BROKER_DEFAULT or topic.replication_factor != BROKER_DEFAULT:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but numPartitions or replicationFactor was not set to -1."
        )
    by_partition = {given.partition_index: given.broker_ids for given in topic.assignments}
    # Partitions have no gaps. A partition that is listed twice also leaves one.
    if sorted(by_partition) != list(range(len(topic.assignments))):
        raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
    lists = [by_partition[partition] for partition in range(len(by_partition))]
    # The first partition decides the replication factor, and all others need the same.
    return tuple(checked_replicas(lists, context.services.cluster.metadata.brokers, factor=len(lists[0])))


def _told(entry: ConfigEntry) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.key.secret,
    )
