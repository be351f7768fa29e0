"""Transactions that were aborted, by the markers in the partitions that they wrote to."""

from collections.abc import Iterable

from confluent_kafka.admin import AdminClient

from kafka_groups.protocol.record_batch import RecordBatch
from kafka_groups.types import TopicPartition
from tests.support.kafka.lost_markers import batches
from tests.support.kafka.real_kafka import RawConnection

__all__ = ["aborted_transactions"]

_PATIENCE_S = 30.0
_ABORT = 0


def aborted_transactions(servers: str, partitions: Iterable[TopicPartition], producer_id: int) -> int:
    """Return the number of aborting markers of a producer: a transaction has one in each partition that it wrote to."""
    topics = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=_PATIENCE_S)
    found = 0
    for place in partitions:
        leader = topics.brokers[topics.topics[place.topic].partitions[place.partition].leader]
        with RawConnection(str(leader.host), leader.port) as connection:
            own = (each for each in batches(connection, place) if each.header.producer_id == producer_id)
            found += sum(_aborts(batch) for batch in own)
    return found


def _aborts(batch: RecordBatch) -> bool:
    # The key of a marker has a version and a type, of two bytes each.
    return batch.header.is_control and any(
        int.from_bytes((record.key or b"")[2:4], "big") == _ABORT for record in batch.records()
    )
