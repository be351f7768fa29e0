"""Records become batches: by size, by time, by flush; and each record gets its partition."""

import random
from collections import Counter
from typing import Any

import pytest

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors import MessageTooLargeError, UnknownTopicOrPartitionError
from kafka_groups.records.partitioning import partition_of
from kafka_groups.records.producing.accumulator import AccumulatorSettings, RecordAccumulator
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.types import TopicPartition


class Bench:
    """An accumulator, and how often it had news."""

    def __init__(self, count: int | None = 4, **settings: Any) -> None:
        self.news: list[int] = []
        self.count = count
        self.accumulator = RecordAccumulator(
            AccumulatorSettings(**settings),
            lambda _topic: self.count,
            random.Random(1),
            self._has_news,
            ProducerSensors(lambda: 0),
        )

    def _has_news(self) -> None:
        self.news.append(self.accumulator.pending)

    def write(self, value: bytes = b"v", partition: int | None = 0, key: bytes | None = b"k", topic: str = "t") -> None:
        self.accumulator.write(topic, key, value, 5, (), partition)

    @property
    def complete(self) -> list[tuple[int, int]]:
        """Partition and count of the complete batches."""
        return [(batch.partition.partition, batch.count) for batch in self.accumulator.complete]


def test_a_batch_is_complete_when_the_next_record_does_not_fit() -> None:
    bench = Bench(batch_bytes=200)
    for _ in range(6):
        bench.write(b"v" * 50)
    assert bench.complete == [(0, 2), (0, 2)]
    assert bench.accumulator.pending == 6


def test_a_batch_is_complete_after_its_linger_time() -> None:
    bench = Bench(linger_ms=5)
    bench.write()
    assert bench.accumulator.complete_due(100) == 5
    bench.write(partition=1)
    assert bench.accumulator.complete_due(103) == 2
    assert bench.accumulator.complete_due(105) == 3
    assert bench.complete == [(0, 1)]
    assert bench.accumulator.complete_due(108) == NEVER_MS
    assert bench.complete == [(0, 1), (1, 1)]


def test_a_batch_collects_as_long_as_it_should_and_until_it_is_full() -> None:
    bench, under_way = Bench(linger_ms=0, batch_bytes=200), {TopicPartition("t", 0)}
    for partition in (0, 1):
        bench.write(b"v" * 50, partition=partition)
    assert bench.accumulator.complete_due(100, under_way.__contains__) == 0, "the batch of the other partition"
    assert bench.accumulator.complete_due(101, under_way.__contains__) == NEVER_MS
    assert bench.complete == [(1, 1)]
    bench.write(b"v" * 50, partition=0)
    bench.write(b"v" * 50, partition=0)
    assert bench.complete == [(1, 1), (0, 2)], "it is full"
    bench.accumulator.complete_due(102, under_way.__contains__)
    under_way.clear()
    bench.accumulator.complete_due(103, under_way.__contains__)
    assert bench.complete == [(1, 1), (0, 2), (0, 1)]


def test_without_linger_a_batch_gets_what_is_written_until_the_next_look() -> None:
    """The first look is made while the first record is written: all others would have batches of their own."""
    bench = Bench(linger_ms=0)
    bench.write()
    assert bench.accumulator.complete_due(100) == 0
    bench.write()
    assert bench.accumulator.complete_due(100) == NEVER_MS
    assert bench.complete == [(0, 2)]


def test_a_full_batch_lets_the_next_one_linger_for_its_own_time() -> None:
    bench = Bench(batch_bytes=200, linger_ms=5)
    bench.write(b"v" * 50)
    bench.accumulator.complete_due(100)
    bench.write(b"v" * 50)
    bench.write(b"v" * 50)
    assert bench.accumulator.complete_due(104) == 5
    assert bench.complete == [(0, 2)]


def test_a_flush_completes_all() -> None:
    bench = Bench()
    for partition in (0, 1, 1, 2):
        bench.write(partition=partition)
    bench.accumulator.complete_all()
    assert bench.complete == [(0, 1), (1, 2), (2, 1)]
    assert not bench.accumulator.is_empty


def test_news_are_told_when_the_record_is_there() -> None:
    """The news lead to a look, which must not find a batch without its record."""
    bench = Bench(batch_bytes=200)
    bench.write(b"v" * 50)
    assert bench.news == [1]
    bench.write(partition=1)
    bench.write(b"v" * 50)
    assert bench.news == [1], "the first look has set the time of the next one"
    bench.write(b"v" * 50)
    assert bench.news == [1, 4]


def test_a_large_record_has_a_batch_of_its_own() -> None:
    bench = Bench(batch_bytes=200, max_request_bytes=1_000)
    bench.write()
    bench.write(b"v" * 500)
    bench.write()
    bench.accumulator.complete_all()
    assert bench.complete == [(0, 1), (0, 1), (0, 1)]


@pytest.mark.parametrize("before", [0, 1])
def test_a_record_larger_than_a_request_is_refused(before: int) -> None:
    bench = Bench(max_request_bytes=1_000)
    for _ in range(before):
        bench.write()
    held_bytes = bench.accumulator.held_bytes
    bench.write(b"v" * 920)
    text = r"A record for t has 1,0.. bytes, .* 1,000\. Make records smaller, .* max\.request\.size of the producer\.$"
    with pytest.raises(MessageTooLargeError, match=text) as caught:
        bench.write(b"v" * 950)
    assert caught.value.says_remedy
    with pytest.raises(MessageTooLargeError):
        bench.accumulator.write_tracked("t", b"k", b"v" * 950, 5, (), 0)
    bench.accumulator.complete_all()
    assert bench.complete == [(0, 1)] * (before + 1)
    assert bench.accumulator.held_bytes > held_bytes


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [("k", b"v", ()), (b"k", 5, ()), (b"k", b"v", (("h", "x"),)), (b"k", b"v", (("a", b""), ("h", 5)))],
)
def test_a_record_of_wrong_types_leaves_its_batch_as_it_was(before: int, key: Any, value: Any, headers: Any) -> None:
    bench = Bench()
    for _ in range(before):
        bench.write(b"a")
    held_bytes = bench.accumulator.held_bytes
    with pytest.raises(TypeError):
        bench.accumulator.write("t", key, value, 5, headers, 0, "origin")
    assert (bench.accumulator.pending, bench.accumulator.held_bytes) == (before, held_bytes)
    bench.write(b"b")
    bench.accumulator.complete_all()
    [batch] = bench.accumulator.complete
    assert [record.value for record in batch.records()] == [b"a"] * before + [b"b"]
    assert batch.origins == []


def test_headers_count() -> None:
    bench = Bench(max_request_bytes=1_000)
    with pytest.raises(MessageTooLargeError):
        bench.accumulator.write("t", None, b"", 5, (("h", b"v" * 1_000),), 0)


def test_a_batch_is_no_larger_than_a_request() -> None:
    bench = Bench(batch_bytes=10_000, max_request_bytes=300)
    for _ in range(5):
        bench.write(b"v" * 80)
    assert bench.complete == [(0, 2), (0, 2)]


def test_the_batches_of_a_topic_stay_below_what_its_brokers_take() -> None:
    bench = Bench(batch_bytes=10_000)
    bench.accumulator.limit("t", 2_000)
    bench.accumulator.limit("t", 3_000)
    for topic in ("t", "u"):
        for _ in range(4):
            bench.write(b"v" * 900, topic=topic)
    assert [(batch.partition.topic, batch.count) for batch in bench.accumulator.complete] == [("t", 2)]


def test_a_limit_never_leaves_batches_without_room() -> None:
    bench = Bench()
    bench.accumulator.limit("t", 1)
    for _ in range(30):
        bench.write(b"v" * 90)
    assert all(count > 5 for _, count in bench.complete)


# ------------------------------------------------------------------------------------------------- room


def test_room_counts_all_bytes() -> None:
    bench = Bench(buffer_bytes=980)
    for _ in range(7):
        assert bench.accumulator.has_room
        bench.accumulator.write("t", b"k", b"v" * 50, 5, (("header", b"v" * 50),), 0)
    assert not bench.accumulator.has_room
    bench.accumulator.complete_all()
    [batch] = bench.accumulator.complete
    assert bench.accumulator.held_bytes == batch.held_bytes == batch.size_bytes + 100
    bench.accumulator.release(batch)
    assert bench.accumulator.held_bytes == 0


def test_a_compressed_batch_counts_less() -> None:
    bench = Bench()
    for _ in range(2):
        bench.write(b"v" * 500)
    bench.accumulator.complete_all()
    [batch] = bench.accumulator.complete
    rest = batch.without({1})
    assert rest is not None
    bench.accumulator.hold(rest)
    bench.accumulator.release(batch)
    assert bench.accumulator.held_bytes == rest.held_bytes < batch.held_bytes


def test_dropped_records_hold_nothing() -> None:
    bench = Bench(batch_bytes=100)
    for _ in range(3):
        bench.write(b"v" * 50)
    bench.accumulator.drop()
    assert (bench.accumulator.held_bytes, bench.accumulator.pending, bench.accumulator.is_empty) == (0, 0, True)
    assert bench.accumulator.complete_due(5) == NEVER_MS


def test_an_accumulator_that_ignores_takes_nothing() -> None:
    bench = Bench()
    bench.accumulator.is_ignoring = True
    bench.write()
    bench.accumulator.write_tracked("t", b"k", b"v", 5, (), 0)
    assert bench.accumulator.is_empty
    assert bench.news == []


# ---------------------------------------------------------------------------------------------- origins


def test_origins_and_tracked_records_have_their_indexes() -> None:
    bench = Bench()
    write = bench.accumulator.write
    for origin in ("a", None, "c"):
        write("t", b"k", b"v", 5, (), 0, origin)
    bench.accumulator.write_tracked("u", b"k", b"v", 5, (), 0)
    bench.accumulator.write_tracked("u", b"k", b"v", 5, (), 0)
    bench.write(topic="u")
    bench.accumulator.complete_all()
    first, second = bench.accumulator.complete
    assert (first.origins, first.last_tracked) == ([(0, "a"), (2, "c")], -1)
    assert (second.origins, second.last_tracked) == ([], 1)
    assert second.partition == TopicPartition("u", 0)


# ------------------------------------------------------------------------------------------- partitions


def test_a_key_decides_the_partition() -> None:
    bench = Bench()
    keys = [b"%d" % each for each in range(20)]
    for key in keys:
        bench.write(partition=None, key=key)
    bench.accumulator.complete_all()
    assert Counter(dict(bench.complete)) == Counter(partition_of(key, 4) for key in keys)


def test_records_without_a_key_stay_in_a_partition_until_it_has_a_batch() -> None:
    """KIP-794: few large batches, and over time all partitions get the same."""
    bench = Bench(batch_bytes=1_000)
    for _ in range(200):
        bench.write(b"v" * 99, partition=None, key=None)
        bench.accumulator.complete_all()
    chosen = [partition for partition, _count in bench.complete]
    runs = [chosen[start : start + 10] for start in range(0, 200, 10)]
    assert all(len(set(run)) == 1 for run in runs)
    assert set(chosen) == {0, 1, 2, 3}


def test_a_topic_with_fewer_partitions_gets_another_choice() -> None:
    bench = Bench(count=50)
    bench.write(partition=None, key=None)
    bench.count = 1
    bench.write(partition=None, key=None)
    bench.accumulator.complete_all()
    assert bench.complete[-1] == (0, 1)


@pytest.mark.parametrize("key", [None, b"k"])
def test_a_topic_that_does_not_exist_is_an_error(key: bytes | None) -> None:
    bench = Bench(count=None)
    with pytest.raises(UnknownTopicOrPartitionError, match="Topic 't' does not exist"):
        bench.write(partition=None, key=key)
    bench.write(partition=3)
