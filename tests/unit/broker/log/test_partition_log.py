import struct
from collections.abc import Callable, Sequence

import pytest

from kafka_groups.broker.log.batches import AppendRules, OffsetAndTimestamp
from kafka_groups.broker.log.partition_log import HIGH_WATERMARK, PartitionLog
from kafka_groups.errors import (
    BrokerError,
    CorruptMessageError,
    CorruptRecordError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTxnStateError,
    MessageTooLargeError,
    OffsetOutOfRangeError,
    OutOfOrderSequenceNumberError,
)
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import crc32c, iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch, build_control_batch

WALL_MS = 1_700_000_000_000
EPOCH = 3


def batch(count: int = 1, *, first_ms: int = 0, options: BatchOptions | None = None) -> bytes:
    return build_batch([NewRecord(b"v%d" % i, timestamp_ms=first_ms + i) for i in range(count)], 0, options)


def idempotent(sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = 7) -> bytes:
    options = BatchOptions(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    return batch(count, options=options)


def log_of(*batches: bytes) -> PartitionLog:
    log = PartitionLog()
    for data in batches:
        log.append(data, EPOCH, WALL_MS)
    return log


def log_with_timestamps(*timestamps_ms: Sequence[int]) -> PartitionLog:
    return log_of(*(build_batch([NewRecord(b"", timestamp_ms=ms) for ms in batch_ms]) for batch_ms in timestamps_ms))


def patched(data: bytes, form: str, position: int, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)


# ---------------------------------------------------------------------------------------------- append


def test_offsets_follow_each_other_and_the_bytes_stay() -> None:
    first, second = batch(3), batch(2, options=BatchOptions(compression=Compression.ZSTD))
    log = PartitionLog()
    results = [log.append(data, EPOCH, WALL_MS) for data in (first, second)]
    assert [(r.base_offset, r.last_offset, r.log_append_time_ms, r.log_start_offset) for r in results] == [
        (0, 2, -1, 0),
        (3, 4, -1, 0),
    ]
    stored = log.read(0, 10_000).records
    assert [(b.header.base_offset, b.header.leader_epoch) for b in iter_batches(stored)] == [(0, EPOCH), (3, EPOCH)]
    assert stored[16 : len(first)] == first[16:]
    assert stored[len(first) + 16 :] == second[16:]
    assert (log.end_offset, log.high_watermark, log.last_stable_offset) == (5, 5, 5)
    assert log.size_bytes == len(first) + len(second)


def test_log_append_time() -> None:
    log = PartitionLog()
    appended = log.append(batch(2), EPOCH, WALL_MS, rules=AppendRules(log_append_time=True))
    assert appended.log_append_time_ms == WALL_MS
    (stored,) = iter_batches(log.read(0, 10_000).records)
    assert [r.timestamp for r in stored.records(check_crc=True)] == [WALL_MS, WALL_MS]
    assert log.offset_for_timestamp(WALL_MS) == OffsetAndTimestamp(0, WALL_MS, EPOCH)


def test_a_batch_may_be_as_large_as_the_topic_allows() -> None:
    data = batch(10)
    log = PartitionLog()
    log.append(data, EPOCH, WALL_MS, rules=AppendRules(max_message_bytes=len(data)))
    with pytest.raises(MessageTooLargeError, match=f"{len(data)} bytes"):
        log.append(data, EPOCH, WALL_MS, rules=AppendRules(max_message_bytes=len(data) - 1))


REFUSED: dict[str, tuple[bytes | None, type[BrokerError]]] = {
    "nothing": (None, InvalidRecordError),
    "no bytes": (b"", InvalidRecordError),
    "a truncated batch": (batch(3)[:-1], InvalidRecordError),
    "two batches": (batch() + batch(), InvalidRecordError),
    "an old format": (batch()[:16] + b"\x01" + batch()[17:], InvalidRecordError),
    "a short length": (patched(batch(), ">i", 8, 10), CorruptMessageError),
    "a wrong checksum": (batch()[:-1] + b"\x55", CorruptMessageError),
    "an unknown compression": (patched(batch(), ">h", 21, 6), CorruptMessageError),
    "a base offset": (build_batch([NewRecord(b"v")], 1), InvalidRecordError),
    "a gap": (build_batch([NewRecord(b"a"), NewRecord(b"b", offset_delta=2)]), InvalidRecordError),
    "fewer records than offsets": (patched(batch(3), ">i", 57, 2), InvalidRecordError),
    "no records": (patched(patched(batch(1), ">i", 57, 0), ">i", 23, -1), InvalidRecordError),
    "a control batch": (build_control_batch(0, is_commit=True, producer_id=1), InvalidRecordError),
    "an unverified transaction": (
        batch(options=BatchOptions(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)),
        InvalidTxnStateError,
    ),
    "a producer without sequence": (batch(options=BatchOptions(producer_id=1, producer_epoch=0)), InvalidRecordError),
    "bytes of nothing": (bytes(80), CorruptMessageError),
    "a far future": (batch(first_ms=WALL_MS + 3_600_001), InvalidTimestampError),
}


@pytest.mark.parametrize(("records", "error"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_leader_refuses(records: bytes | None, error: type[BrokerError]) -> None:
    log = log_of(batch(2))
    with pytest.raises(error):
        log.append(records, EPOCH, WALL_MS)
    assert (log.end_offset, len(log)) == (2, 1)


def test_timestamps_may_be_an_hour_ahead_and_any_time_behind() -> None:
    log = log_of(batch(first_ms=WALL_MS + 3_600_000), batch(first_ms=-1))
    assert log.end_offset == 2
    log.append(batch(first_ms=WALL_MS * 2), EPOCH, WALL_MS, rules=AppendRules(log_append_time=True))
    with pytest.raises(InvalidTimestampError):
        log.append(batch(first_ms=WALL_MS + 6), EPOCH, WALL_MS, rules=AppendRules(timestamp_after_max_ms=5))


def test_a_producers_log_append_time_is_taken_away() -> None:
    log = log_of(patched(batch(2, first_ms=5), ">h", 21, 8))
    (stored,) = iter_batches(log.read(0, 10_000).records)
    assert [(r.timestamp, r.timestamp_type) for r in stored.records(check_crc=True)] == [(5, 0), (6, 0)]


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_compacted_topics_want_keys(codec: Compression) -> None:
    rules = AppendRules(is_compacted=True)
    options = BatchOptions(compression=codec)
    log = PartitionLog()
    log.append(build_batch([NewRecord(b"v", key=b"k"), NewRecord(None, key=b"")], 0, options), 0, 0, rules=rules)
    with pytest.raises(InvalidRecordError, match="needs a key"):
        log.append(build_batch([NewRecord(b"v", key=b"k"), NewRecord(b"v")], 0, options), 0, 0, rules=rules)
    with pytest.raises(InvalidRecordError):
        log.append(patched(batch(3), ">b", 61, 0x7F), 0, 0, rules=rules)
    assert log.end_offset == 2


# ------------------------------------------------------------------------------------- idempotent producers


def test_a_repeated_batch_is_answered_as_before() -> None:
    log = log_of(batch(5))
    first = log.append(idempotent(0, 3), EPOCH, WALL_MS)
    log.append(idempotent(3, 1), EPOCH, WALL_MS)
    again = log.append(idempotent(0, 3), EPOCH, WALL_MS)
    assert again.is_duplicate
    assert (again.base_offset, again.last_offset) == (first.base_offset, first.last_offset) == (5, 7)
    assert log.end_offset == 9


def test_the_last_five_batches_are_remembered() -> None:
    log = log_of(*(idempotent(i) for i in range(6)))
    assert [log.append(idempotent(i), EPOCH, WALL_MS).base_offset for i in range(1, 6)] == [1, 2, 3, 4, 5]
    with pytest.raises(OutOfOrderSequenceNumberError, match="sent sequence 0, expected 6"):
        log.append(idempotent(0), EPOCH, WALL_MS)


@pytest.mark.parametrize("sequence", [2, 4, 9])
def test_a_gap_in_the_sequence_is_refused(sequence: int) -> None:
    log = log_of(idempotent(0, 3))
    with pytest.raises(OutOfOrderSequenceNumberError):
        log.append(idempotent(sequence, 2), EPOCH, WALL_MS)
    assert log.append(idempotent(3), EPOCH, WALL_MS).base_offset == 3


def test_sequences_wrap_to_zero() -> None:
    log = log_of(idempotent(2**31 - 2, 2))
    assert log.append(idempotent(0), EPOCH, WALL_MS).base_offset == 2
    again = log.append(idempotent(2**31 - 2, 2), EPOCH, WALL_MS)
    assert (again.is_duplicate, again.base_offset) == (True, 0)


def test_a_new_epoch_begins_at_zero_and_fences_the_old_one() -> None:
    log = log_of(idempotent(0, 3, epoch=1))
    with pytest.raises(OutOfOrderSequenceNumberError):
        log.append(idempotent(3, epoch=2), EPOCH, WALL_MS)
    assert log.append(idempotent(0, epoch=2), EPOCH, WALL_MS).base_offset == 3
    with pytest.raises(InvalidProducerEpochError):
        log.append(idempotent(3, epoch=1), EPOCH, WALL_MS)
    with pytest.raises(InvalidProducerEpochError):
        log.append(idempotent(0, 3, epoch=1), EPOCH, WALL_MS)  # a repetition, but of a fenced producer


def test_producers_do_not_touch_each_other() -> None:
    log = log_of(idempotent(0), idempotent(0, producer_id=8), idempotent(1))
    assert log.append(idempotent(1, producer_id=8), EPOCH, WALL_MS).base_offset == 3


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert log_of(idempotent(41)).end_offset == 1


def test_an_idle_producer_is_forgotten() -> None:
    log = log_of(idempotent(0))
    rules = AppendRules(producer_expiration_ms=1_000)
    with pytest.raises(OutOfOrderSequenceNumberError):
        log.append(idempotent(5), EPOCH, WALL_MS + 1_000, rules=rules)
    assert log.append(idempotent(5), EPOCH, WALL_MS + 1_001, rules=rules).base_offset == 1


# ------------------------------------------------------------------------------------------------ read


def offsets(log: PartitionLog, offset: int, max_bytes: int, *, min_one: bool = True) -> list[tuple[int, int]]:
    read = log.read(offset, max_bytes, min_one=min_one)
    assert len(read.records) == sum(info.size_bytes for info in read.batches)
    headers = [b.header for b in iter_batches(read.records)]
    assert [(h.base_offset, h.last_offset) for h in headers] == [(i.base_offset, i.last_offset) for i in read.batches]
    return [(info.base_offset, info.last_offset) for info in read.batches]


def test_reading_gives_whole_batches_from_the_one_that_holds_the_offset() -> None:
    log = log_of(batch(3), batch(3), batch(3))
    size = len(batch(3))
    assert offsets(log, 0, 10_000) == [(0, 2), (3, 5), (6, 8)]
    assert offsets(log, 4, 10_000) == [(3, 5), (6, 8)]
    assert offsets(log, 5, 2 * size) == [(3, 5), (6, 8)]
    assert offsets(log, 5, 2 * size - 1) == [(3, 5)]
    assert offsets(log, 9, 10_000) == []


def test_the_first_batch_comes_even_when_it_is_too_large() -> None:
    log = log_of(batch(3), batch(3))
    assert offsets(log, 1, 1) == [(0, 2)]
    assert offsets(log, 1, 1, min_one=False) == []
    assert offsets(log, 1, 0, min_one=False) == []
    assert offsets(log, 6, 1) == []


def test_reading_up_to_an_offset() -> None:
    log = log_of(batch(3), batch(3), batch(3))

    def before(offset: int, limit: int) -> list[int]:
        return [info.base_offset for info in log.read(offset, 10_000, before_offset=limit).batches]

    assert [before(0, limit) for limit in (0, 1, 3, 4, 6, 7, 99)] == [
        [0], [0], [0], [0, 3], [0, 3], [0, 3, 6], [0, 3, 6],
    ]  # fmt: skip
    assert before(4, 2) == [3]
    assert before(9, 99) == []


def test_one_batch_is_given_without_a_copy() -> None:
    log = log_of(batch(3), batch(3))
    assert log.read(0, 1).records is log.read(1, 1).records


@pytest.mark.parametrize(
    ("offset", "before_offset", "bases"),
    [(0, 0, [0]), (0, 1, [0]), (0, 3, [0]), (0, 4, [0, 3]), (0, 5, [0, 3]), (0, 6, [0, 3, 5]), (0, 99, [0, 3, 5]),
     (4, 0, [3]), (4, 6, [3, 5]), (6, 99, []), (6, 0, [])],
)  # fmt: skip
def test_reading_stops_before_an_offset(offset: int, before_offset: int, bases: list[int]) -> None:
    log = log_of(batch(3), batch(2), batch(1))
    read = log.read(offset, 10_000, before_offset=before_offset)
    assert [info.base_offset for info in read.batches] == bases
    assert len(read.records) == sum(info.size_bytes for info in read.batches)


def test_a_read_tells_where_the_log_is() -> None:
    log = log_of(batch(3), batch(3))
    log.delete_records(1)
    read = log.read(1, 1)
    assert (read.log_start_offset, read.high_watermark, read.last_stable_offset) == (1, 6, 6)
    (info,) = read.batches
    assert (info.record_count, info.max_timestamp_ms, info.leader_epoch, info.is_control) == (3, 2, EPOCH, False)


@pytest.mark.parametrize("offset", [-1, 7])
def test_offsets_outside_the_log(offset: int) -> None:
    log = log_of(batch(3), batch(3))
    read: list[Callable[[], object]] = [lambda: log.read(offset, 100), lambda: log.available_bytes(offset)]
    for call in read:
        with pytest.raises(OffsetOutOfRangeError, match=f"Offset {offset}"):
            call()


def test_available_bytes() -> None:
    log = log_of(batch(3), batch(1), batch(3))
    sizes = [len(batch(3)), len(batch(1)), len(batch(3))]
    assert [log.available_bytes(offset) for offset in (0, 2, 3, 4, 7)] == [
        sum(sizes), sum(sizes), sum(sizes[1:]), sizes[2], 0,
    ]  # fmt: skip
    log.delete_records(3)
    assert [log.available_bytes(offset) for offset in (3, 4, 7)] == [sum(sizes[1:]), sizes[2], 0]


# ---------------------------------------------------------------------------------------- delete records


def test_deleting_records_drops_whole_batches() -> None:
    log = log_of(batch(3), batch(3), batch(3))
    assert log.delete_records(4) == 4
    assert (len(log), log.log_start_offset, log.size_bytes) == (2, 4, 2 * len(batch(3)))
    assert offsets(log, 4, 10_000) == [(3, 5), (6, 8)]
    with pytest.raises(OffsetOutOfRangeError):
        log.read(3, 100)


def test_the_start_never_goes_back() -> None:
    log = log_of(batch(3))
    log.delete_records(2)
    assert log.delete_records(1) == 2


def test_deleting_everything() -> None:
    log = log_of(batch(3), batch(3))
    assert log.delete_records(HIGH_WATERMARK) == 6
    assert (len(log), log.size_bytes, log.end_offset) == (0, 0, 6)
    assert log.read(6, 100).records == b""
    assert log.append(batch(2), EPOCH, WALL_MS).base_offset == 6
    assert offsets(log, 6, 100) == [(6, 7)]


@pytest.mark.parametrize("offset", [-2, 4])
def test_deleting_beyond_the_log(offset: int) -> None:
    log = log_of(batch(3))
    with pytest.raises(OffsetOutOfRangeError):
        log.delete_records(offset)
    assert log.log_start_offset == 0


# --------------------------------------------------------------------------------------- search by time


def test_the_first_record_of_a_time_or_later() -> None:
    log = log_with_timestamps([10, 20, 15], [5, 30], [30, 40])
    found = {time_ms: log.offset_for_timestamp(time_ms) for time_ms in (0, 10, 11, 20, 21, 31, 40, 41)}
    assert {time_ms: at and (at.offset, at.timestamp_ms) for time_ms, at in found.items()} == {
        0: (0, 10),
        10: (0, 10),
        11: (1, 20),
        20: (1, 20),
        21: (4, 30),
        31: (6, 40),
        40: (6, 40),
        41: None,
    }


def test_a_search_by_time_skips_deleted_records() -> None:
    log = log_with_timestamps([10, 20, 15], [5, 30])
    log.delete_records(2)
    assert log.offset_for_timestamp(12) == OffsetAndTimestamp(2, 15, EPOCH)
    assert log.offset_for_timestamp(16) == OffsetAndTimestamp(4, 30, EPOCH)


def test_the_largest_timestamp() -> None:
    log = log_with_timestamps([10, 50, 15], [5, 50], [50])
    assert log.max_timestamp() == OffsetAndTimestamp(1, 50, EPOCH)
    log.delete_records(2)
    assert log.max_timestamp() == OffsetAndTimestamp(4, 50, EPOCH)
    log.delete_records(HIGH_WATERMARK)
    assert log.max_timestamp() is None


def test_the_largest_timestamp_of_a_batch_that_the_log_begins_in() -> None:
    log = log_with_timestamps([90, 50, 15], [5, 20])
    log.delete_records(1)
    assert log.max_timestamp() == OffsetAndTimestamp(1, 50, EPOCH)


def test_logs_without_timestamps() -> None:
    assert PartitionLog().max_timestamp() is None
    assert PartitionLog().offset_for_timestamp(0) is None
    assert log_with_timestamps([-1, -1]).max_timestamp() is None


def test_a_batch_that_no_one_can_decode_counts_by_its_header() -> None:
    # The checksum fits and the records do not: a broker takes such a batch, and must survive searching it.
    broken = patched(batch(3, first_ms=100), ">b", 61, 0x7F)
    log = log_of(batch(2), broken)
    assert log.offset_for_timestamp(50) == OffsetAndTimestamp(2, 102, EPOCH)
    assert log.max_timestamp() == OffsetAndTimestamp(2, 102, EPOCH)


def test_leader_epochs_by_offset() -> None:
    log = PartitionLog()
    for epoch in (1, 4):
        log.append(batch(2), epoch, WALL_MS)
    assert [log.leader_epoch_at(offset) for offset in range(5)] == [1, 1, 4, 4, None]


# ------------------------------------------------------------------------------------------ as it is


def test_batches_with_gaps_are_kept_as_they_are() -> None:
    log = log_of(batch(2))
    gapped = build_batch([NewRecord(b"a"), NewRecord(b"b", offset_delta=3)], 5, BatchOptions(last_offset_delta=6))
    marker = build_control_batch(12, is_commit=False, producer_id=1)
    log.append_as_is(gapped + marker)
    assert log.end_offset == 13
    assert offsets(log, 2, 10_000) == offsets(log, 11, 10_000) == [(5, 11), (12, 12)]
    assert log.read(2, 10_000).records == gapped + marker
    assert [info.is_control for info in log.read(5, 10_000).batches] == [False, True]
    assert log.append(batch(), EPOCH, WALL_MS).base_offset == 13


def test_as_it_is_checks_order_and_checksum() -> None:
    log = log_of(batch(2))
    with pytest.raises(InvalidRecordError, match="do not follow the log"):
        log.append_as_is(build_batch([NewRecord(b"a")], 1))
    with pytest.raises(CorruptRecordError, match="checksum"):
        log.append_as_is(build_batch([NewRecord(b"a")], 5)[:-1] + b"\x55")
    assert log.end_offset == 2
