"""Which records letters can copy: neither those that the log has lost, nor those that are too large."""

import pytest

from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.runtime.dead_letters.record_copies import record_copies
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch

HUGE = 1_000_000


def log_of(*batches: bytes) -> PartitionLog:
    log = PartitionLog()
    for batch in batches:
        log.append_as_is(batch)
    return log


def test_keys_and_values_between_two_offsets() -> None:
    records = [NewRecord(b"v%d" % i, None if i == 2 else b"k%d" % i, headers=[("h", b"x")]) for i in range(5)]
    copies = record_copies(log_of(build_batch(records)), 1, 3, HUGE)
    assert {offset: (each.key, each.value) for offset, each in copies.items()} == {
        1: (b"k1", b"v1"),
        2: (None, b"v2"),
        3: (b"k3", b"v3"),
    }


def test_nothing_is_copied_once_the_first_record_is_gone() -> None:
    log = log_of(build_batch([NewRecord(b"a")]), build_batch([NewRecord(b"b")], 1))
    log.delete_records(1)
    assert record_copies(log, 0, 1, HUGE) == {}
    assert sorted(record_copies(log, 1, 1, HUGE)) == [1]


@pytest.mark.parametrize(("compression", "copied"), [(Compression.NONE, [0, 2]), (Compression.GZIP, [])])
def test_large_records_are_left_out_alone_and_large_compressed_batches_as_a_whole(
    compression: Compression, copied: list[int]
) -> None:
    records = [NewRecord(b"a" * 10), NewRecord(b"b" * 500), NewRecord(b"c" * 10)]
    log = log_of(build_batch(records, 0, BatchOptions(compression=compression)))
    assert sorted(record_copies(log, 0, 2, 500)) == copied
    assert sorted(record_copies(log, 0, 2, 600)) == [0, 1, 2]


def test_the_size_of_a_record_is_that_in_its_batch() -> None:
    records = [NewRecord(b"v" * i, b"k", 1_000 * i, [("h", None)]) for i in (1, 70, 9_000)]
    whole = build_batch(records)
    copies = record_copies(log_of(whole), 0, 2, HUGE)
    assert 61 + sum(each.size_bytes for each in copies.values()) == len(whole)


def test_no_more_is_read_than_one_batch_of_letters_may_have() -> None:
    batches = [build_batch([NewRecord(b"v" * 100)], offset) for offset in range(20)]
    assert len(record_copies(log_of(*batches), 0, 19, 250)) == 3
