"""WriteTxnMarkers (key 27), v1-v2: writes the markers that end transactions (KIP-98, KIP-1228).

Transaction coordinators send it to leaders of partitions, and admin clients to abort a hanging transaction. A marker in
`__consumer_offsets` makes the offsets of the transaction count.

Errors per partition: CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, USUAL
from kafka_groups.errors import BrokerError, ClusterAuthorizationFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

_AT_ONCE = 100
"""The partitions that get a marker before others have their turn."""
_OLD_VERSION = 0
_FIRST_WITH_VERSIONS = 2

MarkerErrors = dict[TopicPartition, BrokerError | None]


async def handle(request: WriteTxnMarkersRequest, context: RequestContext) -> WriteTxnMarkersResponse:
    """Write the markers."""
    results: dict[int, MarkerErrors] = {}
    has_right = _has_right(context)
    async for marker in context.turns.each(request.markers):
        # The response has one entry for each producer, even if the request has several markers of it
        # (KafkaApis.handleWriteTxnMarkersRequest in Kafka).
        results.setdefault(marker.producer_id, {}).update(await _written(marker, context, has_right=has_right))
    of_producers = context.turns.each(results.items())
    return WriteTxnMarkersResponse(markers=tuple([await _of_producer(*each, context) async for each in of_producers]))


def _has_right(context: RequestContext) -> bool:
    # Administrators have the first right, and the brokers of other clusters the second.
    operations = (AclOperation.ALTER, AclOperation.CLUSTER_ACTION)
    return any(context.may(operation, AclResourceType.CLUSTER) for operation in operations)


async def _written(wanted: WritableTxnMarker, context: RequestContext, *, has_right: bool) -> MarkerErrors:
    marker = EndMarker(
        Producer(wanted.producer_id, wanted.producer_epoch),
        wanted.transaction_result,
        wanted.coordinator_epoch,
        # A coordinator of an older release does not say which version the producer uses, so the epoch is compared as
        # before (KIP-1228).
        wanted.transaction_version if context.version >= _FIRST_WITH_VERSIONS else _OLD_VERSION,
    )
    each = context.turns.each
    partitions = [
        TopicPartition(topic.name, number)
        async for topic in each(wanted.topics, CHEAP)
        async for number in each(topic.partition_indexes, CHEAP)
    ]
    if not has_right:
        return dict.fromkeys(partitions, ClusterAuthorizationFailedError())
    found: MarkerErrors = {}
    for start in range(0, len(partitions), _AT_ONCE):
        some = partitions[start : start + _AT_ONCE]
        await context.turns.spend(USUAL * len(some))
        found |= await outcome_of(partial(context.services.coordinators.led_markers.write_all, marker, some))
    return found


async def _of_producer(producer_id: int, results: MarkerErrors, context: RequestContext) -> WritableTxnMarkerResult:
    by_topic: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    async for partition, error in context.turns.each(results.items(), CHEAP):
        result = WritableTxnMarkerPartitionResult(partition_index=partition.partition, error_code=_code(error))
        by_topic.setdefault(partition.topic, []).append(result)
    topics = [
        WritableTxnMarkerTopicResult(name=topic, partitions=tuple(found))
        async for topic, found in context.turns.each(by_topic.items())
    ]
    return WritableTxnMarkerResult(producer_id=producer_id, topics=tuple(topics))


def _code(error: BrokerError | None) -> ErrorCode:
    return ErrorCode.NONE if error is None else code_of(error)
