"""CreatePartitions (key 37), v0-v3: adds partitions to topics, or with `validate_only` only checks the request.

Errors per topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS (not an increase),
INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST (topic listed twice). All topics get POLICY_VIOLATION if more than 10,000
partitions are added together.
"""

from collections import Counter

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.changes import check_new_partitions
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.requests.batch_limits import check_added_partitions
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.broker.requests.replica_assignment import checked_replicas
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY
from kafka_groups.errors import BrokerError, InvalidReplicaAssignmentError, InvalidRequestError, PolicyViolationError
from kafka_groups.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

__all__ = ["handle"]


async def handle(request: CreatePartitionsRequest, context: RequestContext) -> CreatePartitionsResponse:
    """Return one result for each topic."""
    times = Counter(topic.name for topic in request.topics)
    metadata, each = context.services.cluster.metadata, context.turns.each
    # A topic that is listed twice is refused, so it does not count towards the limit (ControllerApis.createPartitions
    # in Kafka).
    once = [topic for topic in request.topics if times[topic.name] == 1]
    try:
        check_added_partitions([_added(topic, metadata) async for topic in each(once, CHEAP)])
    except PolicyViolationError as error:
        return CreatePartitionsResponse(
            results=tuple([_result(topic.name, error) async for topic in each(request.topics)])
        )
    results: dict[str, CreatePartitionsTopicResult] = {}
    async for topic in each(request.topics, COSTLY):
        refusal = _grow(topic, context, times[topic.name], validate_only=request.validate_only)
        results[topic.name] = _result(topic.name, refusal)
    return CreatePartitionsResponse(results=tuple(results.values()))


def _added(topic: CreatePartitionsTopic, metadata: ClusterMetadata) -> int:
    known = metadata.topic(topic.name)
    return 0 if known is None else topic.count - known.num_partitions


def _result(name: str, error: BrokerError | None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(
        name=name, error_code=code_of(error), error_message=message_unless_refused(error)
    )


def _grow(
    topic: CreatePartitionsTopic, context: RequestContext, times: int, *, validate_only: bool
) -> BrokerError | None:
    metadata = context.services.cluster.metadata
    try:
        if times > 1:
            raise InvalidRequestError("Duplicate topic name.")
        context.require(AclOperation.ALTER, AclResourceType.TOPIC, topic.name)
        check_new_partitions(metadata.image, topic.name, topic.count)
        assignment = _checked_assignment(topic, metadata)
    except BrokerError as error:
        return error
    if not validate_only:
        metadata.create_partitions(topic.name, topic.count, assignment)
    return None


def _checked_assignment(topic: CreatePartitionsTopic, metadata: ClusterMetadata) -> list[tuple[int, ...]]:
    # Null lets the broker place the new partitions. An empty list is a manual assignment of none.
    if topic.assignments is None:
        return []
    partitions = topic_by_id_or_name(metadata, None, topic.name).partitions
    added = topic.count - len(partitions)
    # Only the new partitions are listed. Those that exist keep their replicas.
    if len(topic.assignments) != added:
        raise InvalidReplicaAssignmentError(
            f"Attempted to add {added} additional partition(s), but only {len(topic.assignments)} assignment(s) "
            "were specified."
        )
    lists = [assignment.broker_ids for assignment in topic.assignments]
    return checked_replicas(lists, metadata.brokers, factor=len(partitions[0].replicas))
