"""Batches of a producer: Java's bytes, numbers, compression, and records divided among batches."""

import random
from collections.abc import Iterable

import pytest

from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.batches.building import BatchSettings, ProducerBatch
from kafka_groups.types import TopicPartition
from tests.recording.java_producer_batches import RecordedBatch, recorded, some_records

PLACE = TopicPartition("t", 3)
PRODUCER = (7, 1)
PLAIN = BatchSettings()
LARGE = 1 << 20


def filled(records: Iterable[NewRecord], settings: BatchSettings = PLAIN) -> ProducerBatch:
    batch = ProducerBatch(PLACE, LARGE, settings)
    for record in records:
        assert batch.add(batch.count, record.timestamp_ms, record.key, record.value, [*record.headers]) is not None
        batch.count += 1
    return batch


def contents(batch: ProducerBatch) -> list[NewRecord]:
    return [NewRecord(each.value, each.key, each.timestamp or 0, tuple(each.headers)) for each in batch.records()]


def numbered(count: int) -> list[NewRecord]:
    return [NewRecord(str(index).encode(), b"k", index) for index in range(count)]


def values(batch: ProducerBatch) -> list[bytes | None]:
    return [record.value for record in batch.records()]


@pytest.mark.parametrize("golden", recorded(), ids=range(len(recorded())))
def test_the_bytes_are_those_of_java(golden: RecordedBatch) -> None:
    batch = filled(golden.records, BatchSettings(is_transactional=golden.is_transactional))
    assert batch.encode(golden.producer.producer_id, golden.producer.epoch, golden.sequence).hex() == golden.data.hex()


@pytest.mark.parametrize("golden", recorded(), ids=range(len(recorded())))
def test_renumbered_bytes_are_those_of_java(golden: RecordedBatch) -> None:
    """The numbers, and the checksum that covers them, change in place."""
    batch = filled(golden.records, BatchSettings(is_transactional=golden.is_transactional))
    batch.encode(123, 5, 99)
    assert batch.encode(golden.producer.producer_id, golden.producer.epoch, golden.sequence).hex() == golden.data.hex()


@pytest.mark.parametrize("level", [None, 1, 9])
@pytest.mark.parametrize("compression", Compression)
def test_compressed_records_come_back(compression: Compression, level: int | None) -> None:
    records = [*some_records(random.Random(2), 50), NewRecord(b"x" * 100_000, b"k")]
    batch = filled(records, BatchSettings(compression, level))
    plain_bytes = batch.size_bytes
    [found] = iter_batches(batch.encode(*PRODUCER, 5))
    found.check_crc()
    assert found.header.compression is compression
    assert (found.header.producer_id, found.header.producer_epoch, found.header.base_sequence) == (7, 1, 5)
    assert (batch.size_bytes < plain_bytes) is (compression is not Compression.NONE)
    assert contents(batch) == records


@pytest.mark.parametrize("compression", set(Compression) - {Compression.NONE})
def test_a_batch_that_would_grow_is_sent_plain(compression: Compression) -> None:
    records = [NewRecord(random.Random(3).randbytes(40))]
    batch = filled(records, BatchSettings(compression))
    assert batch.encode(*PRODUCER, 0) == filled(records).encode(*PRODUCER, 0)


def test_a_higher_level_makes_a_smaller_batch() -> None:
    text = b" ".join(random.Random(4).choice([b"lorem", b"ipsum", b"dolor", b"sit"]) for _ in range(2_000))
    fast, small = (
        filled([NewRecord(text)], BatchSettings(Compression.GZIP, level)) for level in (1, 9)
    )  # fmt: skip
    assert len(small.encode(*PRODUCER, 0)) < len(fast.encode(*PRODUCER, 0))


def test_the_time_0_stays_0() -> None:
    [record] = filled([NewRecord(b"v", timestamp_ms=0)]).records()
    assert record.timestamp == 0


def test_a_batch_has_no_number_before_it_is_encoded() -> None:
    batch = filled(numbered(3))
    assert batch.base_sequence == -1
    batch.encode(*PRODUCER, 2**31 - 2)
    assert (batch.producer_id, batch.epoch, batch.base_sequence, batch.last_sequence) == (7, 1, 2**31 - 2, 0)


def test_the_same_numbers_give_the_same_bytes() -> None:
    batch = filled(numbered(3), BatchSettings(Compression.ZSTD))
    data = batch.encode(*PRODUCER, 5)
    assert batch.encode(*PRODUCER, 5) is data
    assert batch.encode(*PRODUCER, 6) != data
    assert batch.encode(*PRODUCER, 5) == data


def test_only_the_first_record_may_exceed_the_size() -> None:
    batch = ProducerBatch(PLACE, 100, PLAIN)
    assert batch.size_with(0, None, b"v" * 200, []) > 200
    assert batch.add(0, 0, None, b"v" * 200, []) is not None
    assert batch.add(1, 0, None, b"v", []) is None
    batch = ProducerBatch(PLACE, 100, PLAIN)
    assert batch.add(0, 0, None, b"v", []) is not None
    assert batch.add(1, 0, None, b"v" * 200, []) is None


def test_the_size_with_a_record_is_the_size_after_it() -> None:
    batch = filled(numbered(5))
    expected = batch.size_with(9, b"key", b"value", [("h", b"1")])
    batch.add(batch.count, 9, b"key", b"value", [("h", b"1")])
    assert batch.size_bytes == expected


@pytest.mark.parametrize("is_encoded", [False, True])
def test_halves_have_all_records_and_origins(is_encoded: bool) -> None:
    batch = filled(numbered(5), BatchSettings(Compression.GZIP))
    batch.origins = [(0, "a"), (1, "b"), (2, "c"), (4, "e")]
    batch.last_tracked = 3
    if is_encoded:
        batch.encode(*PRODUCER, 10)
    first, second = batch.halves()
    assert values(first) + values(second) == [b"0", b"1", b"2", b"3", b"4"]
    assert (first.count, second.count) == (2, 3)
    assert (first.origins, second.origins) == ([(0, "a"), (1, "b")], [(0, "c"), (2, "e")])
    assert (first.last_tracked, second.last_tracked) == (1, 1)
    assert first.partition == second.partition == PLACE


def test_a_batch_without_some_records_keeps_the_origins_of_the_others() -> None:
    batch = filled(numbered(4))
    batch.origins = [(0, "a"), (1, "b"), (3, "d")]
    batch.last_tracked = 3
    batch.encode(*PRODUCER, 10)
    rest = batch.without({1, 2})
    assert rest is not None
    assert (values(rest), rest.origins, rest.last_tracked) == ([b"0", b"3"], [(0, "a"), (1, "d")], 1)
    assert batch.without({0, 1, 2, 3}) is None


def test_records_can_be_removed_from_a_batch_that_was_not_sent() -> None:
    batch = filled(numbered(5))
    batch.origins = [(index, f"origin {index}") for index in range(5)]
    batch.last_tracked = 3
    batch.drop({0, 3})
    assert values(batch) == [b"1", b"2", b"4"]
    assert batch.origins == [(0, "origin 1"), (1, "origin 2"), (2, "origin 4")]
    assert (batch.count, batch.last_tracked, batch.was_sent) == (3, 1, False)
    batch.encode(*PRODUCER, 7)
    assert [each.header.last_sequence for each in iter_batches(batch.data)] == [9]
    assert batch.was_sent


def test_a_batch_may_lose_all_its_records() -> None:
    batch = filled(numbered(2))
    batch.drop({0, 1})
    assert (batch.count, batch.origins) == (0, [])


def test_parts_of_a_batch_that_may_be_written_may_be_written() -> None:
    batch = filled(numbered(4))
    batch.may_be_written = True
    assert [half.may_be_written for half in batch.halves()] == [True, True]


def test_refused_records_have_their_origins() -> None:
    batch = filled(numbered(3))
    batch.origins = [(1, "b")]
    assert [(record.value, origin) for record, origin in batch.refused({1, 2})] == [(b"1", "b"), (b"2", None)]
    assert [origin for _, origin in batch.refused(None)] == [None, "b", None]
