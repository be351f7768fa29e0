"""Transactions that a real Kafka ended without their markers, which no client can do anything about.

Kafka 4.3 and 4.4 take a partition without a leader for a deleted one when a transaction ends, and the only broker of a
cluster has such partitions while it stops, and when it comes back after a crash. Then readers of committed records wait
for ever, although the producer was told that it has committed. With a producer of librdkafka alone, on a machine that
did other work, it came when the broker was killed during a commit: in 8 of 14 runs on Kafka 4.4.0, in 5 of 10 on 4.3.1,
and in none of 10 on 4.2.1.
"""

from collections.abc import Iterable, Iterator

from attrs import frozen
from confluent_kafka.admin import AdminClient

from kafka_groups.admin import KafkaAdmin
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.messages.list_offsets import (
    EARLIEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_groups.protocol.record_batch import BatchHeader, RecordBatch, iter_batches
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import RawConnection

__all__ = ["MergedTransactions", "batches", "first_offset", "lost_markers", "merged_transactions"]

_IN_PROGRESS = ("Ongoing", "PrepareCommit", "PrepareAbort")
_PATIENCE_S = 60.0
_BY_NAME = 12  # the last version of Fetch with names of topics
_LIST_OFFSETS = 7
_MAX_BYTES = 8_000_000


def lost_markers(admin: KafkaAdmin, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions with an open transaction that no coordinator knows.

    Waits until no transaction is in progress: its producers must have ended, so that those they left are timed out.
    """

    def is_all_ended() -> bool:
        found = admin.list_transactions(states=_IN_PROGRESS)
        return not found.transactions and not found.errors

    wait_until(is_all_ended, _PATIENCE_S)
    found = admin.describe_producers(partitions)
    return [partition for partition in found if any(it.transaction_start_offset is not None for it in found[partition])]


@frozen
class MergedTransactions:
    """Transactions of one producer that one marker ends, because the marker of the earlier one is missing.

    Attributes:
        partition: Where they are.
        producer_id: The producer.
        epochs: Its epochs. From level 2 of `transaction.version` on, each transaction has an epoch of its own.
        marker_offset: The offset of the marker.
    """

    partition: TopicPartition
    producer_id: int
    epochs: tuple[int, ...]
    marker_offset: int


def merged_transactions(servers: str, partitions: Iterable[TopicPartition]) -> list[MergedTransactions]:
    """Return the transactions that a marker has ended together: an aborted one may have been committed, or the reverse.

    A leader takes no batch of a producer before its coordinator says that the transaction before has ended, so no
    client can do that. For brokers and producers at level 2 of `transaction.version`.
    """
    topics = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=_PATIENCE_S)
    found: list[MergedTransactions] = []
    for place in partitions:
        leader = topics.brokers[topics.topics[place.topic].partitions[place.partition].leader]
        with RawConnection(str(leader.host), leader.port) as connection:
            found += _merged(place, (batch.header for batch in batches(connection, place)))
    return found


def _merged(place: TopicPartition, headers: Iterable[BatchHeader]) -> Iterator[MergedTransactions]:
    open_epochs: dict[int, dict[int, None]] = {}
    for header in headers:
        if header.is_control:
            epochs = tuple(open_epochs.pop(header.producer_id, {}))
            if len(epochs) > 1:
                yield MergedTransactions(place, header.producer_id, epochs, header.base_offset)
        elif header.is_transactional:
            open_epochs.setdefault(header.producer_id, {})[header.producer_epoch] = None


def batches(connection: RawConnection, place: TopicPartition) -> Iterator[RecordBatch]:
    """Iterate over all batches that a partition has now."""
    offset, end = first_offset(connection, place), None
    while end is None or offset < end:
        part = FetchPartition(partition=place.partition, fetch_offset=offset, partition_max_bytes=_MAX_BYTES)
        topics = (FetchTopic(topic=place.topic, partitions=(part,)),)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, isolation_level=0, topics=topics)
        (answer,) = connection.ask(request, _BY_NAME).responses[0].partitions
        assert answer.error_code is ErrorCode.NONE, answer
        end = answer.high_watermark
        for batch in iter_batches(answer.records or b""):
            if batch.header.next_offset > offset:
                offset = batch.header.next_offset
                yield batch


def first_offset(connection: RawConnection, place: TopicPartition) -> int:
    asked = ListOffsetsPartition(partition_index=place.partition, timestamp=EARLIEST)
    topics = (ListOffsetsTopic(name=place.topic, partitions=(asked,)),)
    (topic,) = connection.ask(ListOffsetsRequest(topics=topics), _LIST_OFFSETS).topics
    return int(topic.partitions[0].offset)
