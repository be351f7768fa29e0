"""The log of an internal topic: records become bytes when somebody reads them."""

import random
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.log.entries import EndMarker, Producer, TransactionEnd
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.broker.log.store import LogStore
from kafka_groups.errors import MalformedRecordError
from kafka_groups.protocol.coordinator_records.share_group_state import (
    SHARE_GROUP_STATE,
    ShareStateRecord,
    ShareUpdate,
    ShareUpdateValue,
)
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.broker.coordinator_records import tombstone

TOPIC = UUID(int=7)
LARGE = 1_000_000


def record(number: int) -> ShareStateRecord:
    return ShareUpdate("g", TOPIC, 0, ShareUpdateValue(snapshot_epoch=0, leader_epoch=0, start_offset=number))


def log_of(*sizes: int) -> InternalLog[ShareStateRecord]:
    """A log with batches of so many records, which are numbered by their offsets."""
    log = InternalLog(SHARE_GROUP_STATE)
    for size in sizes:
        log.append_records([record(log.end_offset + index) for index in range(size)], 3, 1_000 + log.end_offset)
    return log


def test_records_have_offsets_before_they_are_bytes() -> None:
    log = log_of(2, 1)
    assert (log.log_start_offset, log.end_offset, log.high_watermark, len(log)) == (0, 3, 3, 2)
    assert log.append_records([record(3)], 3, 0) == 3


def test_late_bytes_are_those_of_eager_ones() -> None:
    eager, late = log_of(), log_of(2, 1, 3)
    for size in (2, 1, 3):
        first = eager.end_offset
        eager.append_records([record(first + index) for index in range(size)], 3, 1_000 + first)
        assert eager.read(first, LARGE).records  # so it is bytes now
    assert late.read(0, LARGE) == eager.read(0, LARGE)
    assert late.size_bytes == eager.size_bytes > 0


def test_each_question_about_bytes_sees_all_records() -> None:
    assert log_of(2, 1).available_bytes(0) == log_of(2, 1).size_bytes
    assert log_of(2, 1).leader_epoch_at(2) == 3
    found = log_of(2, 1).offset_for_timestamp(1_001)
    assert found is not None
    assert found.offset == 2
    newest = log_of(2, 1).max_timestamp()
    assert newest is not None
    assert (newest.offset, newest.timestamp_ms) == (2, 1_002)


@pytest.mark.parametrize("read_up_to", [0, 900, 1_500])
def test_records_come_in_small_slices_whether_they_are_bytes_or_not(read_up_to: int) -> None:
    log = log_of(*[3] * (read_up_to // 3))
    log.read(0, LARGE)
    for _ in range((1_500 - read_up_to) // 3):
        first = log.end_offset
        log.append_records([record(first + index) for index in range(3)], 3, 1_000 + first)
    found: list[tuple[int, ShareStateRecord]] = []
    offset, most = 1, 0
    while offset < log.end_offset:
        some, offset = log.slice(offset)
        most = max(most, len(some))
        found += some
    assert found == [(each, record(each)) for each in range(1, 1_500)]
    assert most < 1_000
    assert log.slice(1_500) == ([], 1_500)


@pytest.mark.parametrize("is_read_first", [False, True])
def test_deleted_records_are_gone_whether_they_were_bytes_or_not(*, is_read_first: bool) -> None:
    log = log_of(2, 2, 1)
    if is_read_first:
        log.read(0, LARGE)
        log.append_records([record(5)], 3, 0)
    assert log.delete_records(3) == 3
    assert len(log) == (3 if is_read_first else 2)
    assert [offset for offset, _ in log.records()] == list(range(3, log.end_offset))


def test_records_of_unknown_types_are_left_out_and_records_without_key_refused() -> None:
    log = log_of()
    log.append_as_is(build_batch([NewRecord(key=b"\x00\x63", value=b"?")], log.end_offset))
    assert log.slice(0) == ([], 1)
    log.append_as_is(build_batch([NewRecord(value=b"?")], log.end_offset))
    with pytest.raises(MalformedRecordError, match="no key"):
        log.slice(1)


def test_only_a_coordinator_appends() -> None:
    log = log_of(1)
    with pytest.raises(TypeError, match="Only a coordinator writes to __share_group_state"):
        log.append(build_batch([NewRecord(key=b"k", value=b"v")]), 0, 0)
    assert log.end_offset == 1


def test_records_never_wait_without_bound() -> None:
    log = log_of(*[100] * 101)
    assert log._unwritten_count <= 10_000
    assert len(log) == 101


def test_a_store_has_the_log_of_an_internal_topic_even_if_a_reader_was_first() -> None:
    store = LogStore()
    assert store.get(TOPIC, 0).read(0, LARGE).records == b""
    log = store.internal(TOPIC, 0, SHARE_GROUP_STATE)
    assert store.internal(TOPIC, 0, SHARE_GROUP_STATE) is store.get(TOPIC, 0) is log


def keyed(partition: int, start: int | None) -> ShareStateRecord:
    value = None if start is None else ShareUpdateValue(snapshot_epoch=0, leader_epoch=0, start_offset=start)
    return ShareUpdate("g", TOPIC, partition, value)


def starts(log: InternalLog[ShareStateRecord]) -> list[tuple[int, int | None]]:
    """Offset and start offset of each record."""
    return [(offset, getattr(each.value, "start_offset", None)) for offset, each in log.records()]


def compact(log: InternalLog[ShareStateRecord]) -> int:
    """Compact the log if that is due; the steps that it took."""
    log.compact_some()
    steps = 1
    while log._compaction is not None:
        log.compact_some()
        steps += 1
    return steps


@pytest.mark.parametrize("is_read_first", [False, True])
def test_compaction_keeps_the_last_record_of_each_key_with_its_offset(*, is_read_first: bool) -> None:
    log = InternalLog(SHARE_GROUP_STATE, spare_records=0)
    for partition, start in ((0, 1), (1, 2), (0, 3), (2, 4), (1, None)):
        log.append_records([keyed(partition, start)], 3, 1_000 + log.end_offset)
        if is_read_first:
            log.read(0, LARGE)
    compact(log)
    assert (log.record_count, log.log_start_offset, log.end_offset) == (2, 0, 5)
    assert starts(log) == [(2, 3), (3, 4)]
    assert log.slice(4) == ([], 5)
    found = log.offset_for_timestamp(1_003)
    assert found is not None
    assert (found.offset, found.timestamp_ms, found.leader_epoch) == (3, 1_003, 3)
    log.append_records([record(5)], 4, 2_000)
    assert list(log.records())[-1] == (5, record(5))


def test_one_step_of_compaction_handles_a_few_records() -> None:
    log = InternalLog(SHARE_GROUP_STATE, spare_records=4_999)
    for number in range(5_000):
        log.append_records([keyed(0, number)], 3, 0)
        log.compact_some()
    assert compact(log) == pytest.approx(2 * 5_000 / 50, abs=2)
    assert starts(log) == [(4_999, 4_999)]
    assert compact(log) == 1  # nothing is due


@pytest.mark.parametrize("records", [1, 10, 200])
def test_a_log_does_not_outgrow_its_compaction(records: int) -> None:
    log = InternalLog(SHARE_GROUP_STATE, spare_records=100)
    longest = 0
    for number in range(20_000 // records):
        log.append_records([keyed(each, number) for each in range(records)], 0, 0)
        log.compact_some()
        longest = max(longest, log.record_count)
    assert longest <= 3 * (100 + 2 * records)


def test_what_is_appended_during_a_pass_is_left_to_the_next() -> None:
    log = InternalLog(SHARE_GROUP_STATE, spare_records=0)
    for number in range(600):
        log.append_records([keyed(number % 2, number)], 3, 0)
    log.compact_some()
    log.append_records([keyed(0, None), keyed(1, 601)], 3, 0)
    assert log.read(600, LARGE).records  # what has become bytes meanwhile stays behind the rest
    compact(log)
    assert starts(log) == [(598, 598), (599, 599), (600, None), (601, 601)]
    log.append_records([keyed(1, number) for number in range(602, 610)], 3, 0)
    compact(log)
    assert starts(log) == [(609, 609)]


def test_a_pass_ends_early_when_records_are_deleted() -> None:
    log = log_of(*[1] * 3_000)
    log.compact_some()
    log.delete_records(2_999)
    assert compact(log) == 1
    assert starts(log) == [(2_999, 2_999)]


def test_batches_of_other_epochs_stay_apart_and_ended_transactions_are_records_like_others() -> None:
    log = InternalLog(SHARE_GROUP_STATE, spare_records=0)
    log.append_records([keyed(0, 0), keyed(1, 1)], 3, 0)
    log.append_records([keyed(3, 2)], 3, 0, Producer(7, 0))
    log.append_end(EndMarker(Producer(7, 0), committed=True), 3, 0)
    log.append_records([keyed(4, 4)], 3, 0, Producer(8, 0))
    log.append_end(EndMarker(Producer(8, 0), committed=False), 3, 0)
    log.append_records([keyed(0, 6), keyed(2, 7)], 4, 0)
    compact(log)
    batches = log.read(0, LARGE).batches
    assert [(each.base_offset, each.last_offset, each.leader_epoch) for each in batches] == [(1, 2, 3), (6, 7, 4)]
    assert not any(each.is_transactional for each in batches)
    assert list(log.aborted_between(0, LARGE)) == []


def test_open_transactions_are_not_compacted() -> None:
    log = InternalLog(SHARE_GROUP_STATE, spare_records=0)
    log.append_records([keyed(0, 0), keyed(0, 1)], 3, 0)
    log.append_records([keyed(0, 2)], 3, 0, Producer(7, 0))
    log.append_records([keyed(1, number) for number in range(3, 9)], 3, 0)
    compact(log)
    assert starts(log) == [(1, 1), (2, 2), *((number, number) for number in range(3, 9))]
    log.append_end(EndMarker(Producer(7, 1), committed=True, version=2), 3, 0)
    log.append_records([keyed(2, number) for number in range(10, 40)], 3, 0)
    compact(log)
    assert starts(log) == [(2, 2), (8, 8), (39, 39)]


def counting(entries: list[Any]) -> dict[Any, Any]:
    """What a shard would have loaded: by key the record that counts."""
    pending: dict[int, list[tuple[int, ShareStateRecord]]] = {}
    counted: dict[Any, tuple[int, Any]] = {}

    def count(offset: int, record: ShareStateRecord) -> None:
        key = tombstone(record)
        if key not in counted or counted[key][0] < offset:
            counted[key] = (offset, record.value)

    for entry in entries:
        if isinstance(entry, TransactionEnd):
            for offset, each in pending.pop(entry.producer.producer_id, []) if entry.committed else ():
                count(offset, each)
            pending.pop(entry.producer.producer_id, None)
        elif entry.producer is not None:
            pending.setdefault(entry.producer.producer_id, []).append((entry.offset, entry.record))
        else:
            count(entry.offset, entry.record)
    return {key: value for key, (_, value) in counted.items() if value is not None}


def all_entries(log: InternalLog[ShareStateRecord]) -> list[Any]:
    found, offset = list[Any](), log.log_start_offset
    while offset < log.end_offset:
        some, offset = log.entries(offset)
        found += some
    return found


@pytest.mark.parametrize("seed", range(10))
def test_compaction_changes_nothing_for_those_who_load_the_log(seed: int) -> None:
    rng = random.Random(seed)
    log, plain = InternalLog(SHARE_GROUP_STATE, spare_records=20), InternalLog(SHARE_GROUP_STATE, spare_records=10_000)
    open_ones: set[int] = set()
    for number in range(2_000):
        producer_id = rng.choice([None, None, 1, 2, 3])
        for each in (log, plain):
            if producer_id is None:
                each.append_records([keyed(number % 7, None if number % 11 == 0 else number)], 3, number)
            elif producer_id in open_ones and number % 3 == 0:
                each.append_end(EndMarker(Producer(producer_id, 0), committed=number % 2 == 0), 3, number)
            else:
                each.append_records([keyed(number % 7, number)], 3, number, Producer(producer_id, 0))
            each.compact_some()
        if producer_id is not None:
            (open_ones.discard if producer_id in open_ones and number % 3 == 0 else open_ones.add)(producer_id)
    assert counting(all_entries(log)) == counting(all_entries(plain))
    assert log.record_count < 1_000
