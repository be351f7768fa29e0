"""The records of a topic, for tests that ask what a program has produced."""

from collections.abc import Iterator

from attrs import field, frozen

from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.types import Header

__all__ = ["ProducedRecord", "produced_records"]


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


def _records(topic: TopicMetadata, partition: int, logs: LogStore) -> Iterator[ProducedRecord]:
    log = logs.get(topic.topic_id, partition)
    read = log.read(log.log_start_offset, log.size_bytes, min_one=False)
    for batch in iter_batches(read.records):
        for each in () if batch.header.is_control else batch.records():
            if each.offset >= log.log_start_offset:
                yield ProducedRecord(
                    topic.name, partition, each.offset, each.key, each.value, tuple(each.headers), each.timestamp
                )
