"""A reader over naive brokers, whose test writes the logs and answers the requests."""

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.interface import PolledRecords
from kafka_groups.types import TopicPartition
from tests.support.naive_brokers import NaiveBrokers

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
MANY = 1_000_000


def brokers(topics: dict[str, int] | None = None, options: FetchOptions | None = None) -> NaiveBrokers:
    found = NaiveBrokers(topics or {"a": 2, "b": 1}, options)
    found.tell_metadata()
    return found


def write(found: NaiveBrokers, place: TopicPartition, *values: bytes, producer_id: int | None = None) -> None:
    log = found.log(place.topic, place.partition)
    log.append([NewRecord(value, key=b"k") for value in values], producer_id=producer_id)


def take(found: NaiveBrokers, most: int = MANY) -> PolledRecords:
    return found.reader.take(most, found.now_ms)


def values(polled: PolledRecords, place: TopicPartition = A0) -> list[bytes | None]:
    return [row[2] for row in polled.batches[place].rows()] if place in polled.batches else []


def offsets(found: NaiveBrokers) -> list[tuple[int, ...]]:
    """The offsets that each request under way asks for."""
    return [tuple(p.fetch_offset for topic in each.topics for p in topic.partitions) for each in found.built()]


def filled(found: NaiveBrokers, *epochs: int) -> None:
    """Write a batch of two records in each of these epochs."""
    for epoch in epochs:
        found.partitions[A0].log.leader_epoch = epoch
        write(found, A0, b"%d" % epoch, b"x")
    found.tell_metadata()
