"""Transactions that were aborted, by the markers in the partitions that they wrote to."""

from collections.abc import Iterable, Iterator

from confluent_kafka.admin import AdminClient

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.record_batch import RecordBatch, iter_batches
from kafka_groups.types import TopicPartition
from tests.support.kafka.lost_markers import first_offset
from tests.support.kafka.real_kafka import RawConnection

__all__ = ["aborted_transactions"]

_PATIENCE_S = 30.0
_BY_NAME = 12
_MAX_BYTES = 2**24
_ABORT = 0


def aborted_transactions(servers: str, partitions: Iterable[TopicPartition], producer_id: int) -> int:
    """Return the number of aborting markers of a producer: a transaction has one in each partition that it wrote to."""
    topics = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=_PATIENCE_S)
    found = 0
    for place in partitions:
        leader = topics.brokers[topics.topics[place.topic].partitions[place.partition].leader]
        with RawConnection(str(leader.host), leader.port) as connection:
            batches = _batches(connection, place)
            found += sum(_aborts(batch) for batch in batches if batch.header.producer_id == producer_id)
    return found


def _aborts(batch: RecordBatch) -> bool:
    # The key of a marker has a version and a type, of two bytes each.
    return batch.header.is_control and any(
        int.from_bytes((record.key or b"")[2:4], "big") == _ABORT for record in batch.records()
    )


def _batches(connection: RawConnection, place: TopicPartition) -> Iterator[RecordBatch]:
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
