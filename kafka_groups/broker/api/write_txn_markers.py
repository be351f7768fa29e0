"""WriteTxnMarkers (key 27), v1-v2: writes the markers that end transactions (KIP-98, KIP-1228).

Transaction coordinators send it to leaders of partitions, and admin clients to abort a hanging transaction. A marker in
`__consumer_offsets` makes the offsets of the transaction count.

Errors per partition: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, INVALID_PRODUCER_EPOCH,
TRANSACTION_COORDINATOR_FENCED.
"""

from functools import partial

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.coordinators.transactions.records import by_topic
from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.errors import BrokerError
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

_OLD_VERSION = 0
_FIRST_WITH_VERSIONS = 2

MarkerErrors = dict[TopicPartition, BrokerError | None]


async def handle(request: WriteTxnMarkersRequest, context: RequestContext) -> WriteTxnMarkersResponse:
    """Write the markers."""
    results: dict[int, MarkerErrors] = {}
    async for marker in context.turns.each(request.markers):
        results.setdefault(marker.producer_id, {}).update(await _written(marker, context))
    return WriteTxnMarkersResponse(markers=tuple(_of_producer(*each) for each in results.items()))


async def _written(wanted: WritableTxnMarker, context: RequestContext) -> MarkerErrors:
    marker = EndMarker(
        Producer(wanted.producer_id, wanted.producer_epoch),
        wanted.transaction_result,
        wanted.coordinator_epoch,
        wanted.transaction_version if context.version >= _FIRST_WITH_VERSIONS else _OLD_VERSION,
    )
    partitions = [TopicPartition(topic.name, number) for topic in wanted.topics for number in topic.partition_indexes]
    return await outcome_of(partial(context.services.coordinators.led_markers.write_all, marker, partitions))


def _of_producer(producer_id: int, results: MarkerErrors) -> WritableTxnMarkerResult:
    topics = tuple(
        WritableTxnMarkerTopicResult(
            name=topic,
            partitions=tuple(
                WritableTxnMarkerPartitionResult(
                    partition_index=number, error_code=_code(results[TopicPartition(topic, number)])
                )
                for number in numbers
            ),
        )
        for topic, numbers in by_topic(results).items()
    )
    return WritableTxnMarkerResult(producer_id=producer_id, topics=topics)


def _code(error: BrokerError | None) -> ErrorCode:
    return ErrorCode.NONE if error is None else code_of(error)
