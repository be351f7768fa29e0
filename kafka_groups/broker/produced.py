"""The records of a topic, for tests that ask what a program has produced."""

from collections.abc import Iterator

from attrs import field, frozen

from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.protocol.record_batch import DecodedRecord, iter_batches
from kafka_groups.types import Header

__all__ = ["ProducedRecord", "decoded_records", "produced_records"]


@frozen
class ProducedRecord:
    """A record in the log of a partition.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The offset.
        key: The key's bytes, or None.
        value: The value's bytes, or None.
        headers: The headers.
        timestamp_ms: The timestamp in milliseconds since the epoch, or None if the producer set none.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = field(repr=False)
    timestamp_ms: int | None = field(repr=False)


def produced_records(topic: TopicMetadata, logs: LogStore) -> list[ProducedRecord]:
    """Return the records of all partitions, sorted by partition and offset. Deleted ones are not among them."""
    return [record for partition in range(topic.num_partitions) for record in _records(topic, partition, logs)]


def decoded_records(log: PartitionLog, first: int, last: int) -> Iterator[DecodedRecord]:
    """Return the records of a log between two offsets, except those that are deleted."""
    first = max(first, log.log_start_offset)
    for stored in log.batches(first, last + 1):
        for batch in iter_batches(stored.data):
            for record in () if batch.header.is_control else batch.records():
                if first <= record.offset <= last:
                    yield record


def _records(topic: TopicMetadata, partition: int, logs: LogStore) -> Iterator[ProducedRecord]:
    log = logs.get(topic.topic_id, partition)
    for each in decoded_records(log, log.log_start_offset, log.end_offset - 1):
        yield ProducedRecord(
            topic.name, partition, each.offset, each.key, each.value, tuple(each.headers), each.timestamp
        )
