import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.messages.fetch import AbortedTransaction
from kafka_groups.protocol.record_batch import crc32c, with_log_append_time
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.records.batches.reading import RawRecords, check_crc, read_batches
from kafka_groups.types import FetchedRecord, RecordRow, TopicPartition
from tests.support.naive_log import NaiveLog

PLACE = TopicPartition("orders", 3)
RECORDS = [
    NewRecord(b"v0", key=b"k0", timestamp_ms=5, headers=[("h", b"x"), ("h", None)]),
    NewRecord(b"v1", key=None, timestamp_ms=6),
    NewRecord(None, key=b"k2", timestamp_ms=-1),
]
ROWS: list[RecordRow] = [
    (10, b"k0", b"v0", 5, (("h", b"x"), ("h", None))),
    (11, None, b"v1", 6, ()),
    (12, b"k2", None, -1, ()),
]


def raw_records(data: bytes, position: int = 0, *, check_crcs: bool = True) -> RawRecords:
    batches = [each.batch for each in read_batches(PLACE, position, data, ()) if each.is_visible]
    if check_crcs:
        for batch in batches:
            check_crc(PLACE, batch)
    return RawRecords(PLACE, batches, position)


@pytest.mark.parametrize("codec", list(Compression))
def test_records_are_plain_tuples_in_the_order_of_the_fields_or_tuples_with_names(codec: Compression) -> None:
    found = raw_records(build_batch(RECORDS, 10, BatchOptions(compression=codec)))
    assert found.rows() == ROWS
    assert {type(row) for row in found.rows()} == {tuple}
    assert found.records() == [FetchedRecord(*row) for row in ROWS]
    assert [type(each) for each in found.records()] == [FetchedRecord] * 3
    assert (len(found), found.next_offset) == (3, 13)


def test_columns_leave_out_records_without_a_key() -> None:
    found = raw_records(build_batch(RECORDS, 10) + build_batch([NewRecord(b"v3", key=b"k3")], 13)).columns()
    assert (found.offsets, found.keys, found.values) == ([10, 12, 13], [b"k0", b"k2", b"k3"], [b"v0", None, b"v3"])
    assert found.timestamps_ms == [5, -1, 0]
    assert found.headers == [(("h", b"x"), ("h", None)), (), ()]


def test_columns_without_any_header_have_none() -> None:
    assert raw_records(build_batch([NewRecord(b"v", key=b"k")])).columns().headers is None


def test_the_time_of_the_append_is_that_of_all_records() -> None:
    data = bytearray(build_batch(RECORDS, 10))
    with_log_append_time(data, 777)
    assert [row[3] for row in raw_records(bytes(data)).rows()] == [777] * 3
    assert raw_records(bytes(data)).columns().timestamps_ms == [777] * 2


@pytest.mark.parametrize("deltas", [(0, 1, 2), (0, 4, 7)])
def test_records_before_the_position_are_left_out(deltas: Sequence[int]) -> None:
    records = [NewRecord(b"v", key=b"k", offset_delta=delta) for delta in deltas]
    found = raw_records(build_batch(records, 10), position=10 + deltas[1])
    assert [row[0] for row in found.rows()] == [10 + delta for delta in deltas[1:]]
    assert list(found.columns().offsets) == [10 + delta for delta in deltas[1:]]
    assert len(found) == 2


def test_a_batch_that_ends_before_the_position_has_no_rows() -> None:
    found = raw_records(build_batch(RECORDS, 10, BatchOptions(last_offset_delta=8)), position=15)
    assert (len(found), found.rows(), len(found.columns())) == (0, [], 0)


# ------------------------------------------------------------------------------------------------ damage


def test_a_wrong_checksum_is_an_error_that_names_the_place_and_the_remedy() -> None:
    data = bytearray(build_batch(RECORDS, 10))
    data[data.index(b"v1")] ^= 1
    with pytest.raises(CorruptRecordError, match=r"orders-3 .* offset 10 .*checksum.*before offset 13"):
        raw_records(bytes(data))
    assert len(raw_records(bytes(data), check_crcs=False).rows()) == 3


def damaged(records: bytes) -> bytes:
    """Return a batch with other bytes as records, and a checksum that fits."""
    data = bytearray(build_batch(RECORDS, 10))
    data[61:] = records
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return bytes(data)


@pytest.mark.parametrize("read", [RawRecords.rows, RawRecords.records, RawRecords.columns])
def test_bytes_that_are_no_records_are_an_error_when_they_are_read(read: object) -> None:
    found = raw_records(damaged(b"\xff" * 30))
    with pytest.raises(CorruptRecordError, match=r"orders-3 .* offset 10 .*before offset 13"):
        read(found)  # type: ignore[operator]


def test_records_that_cannot_be_decompressed_are_an_error_when_they_are_read() -> None:
    data = bytearray(damaged(b"\xff" * 30))
    data[22] |= Compression.ZSTD
    with pytest.raises(CorruptRecordError, match=r"orders-3 .* offset 10 .*ZSTD"):
        raw_records(bytes(data), check_crcs=False).rows()


def test_another_format_is_an_error_after_the_batches_before_it() -> None:
    data = bytearray(build_batch(RECORDS, 10) + build_batch(RECORDS, 13))
    data[len(data) // 2 + 16] = 1
    batches = read_batches(PLACE, 10, bytes(data), ())
    assert next(batches).batch.header.base_offset == 10
    with pytest.raises(CorruptRecordError, match=r"orders-3 .* offset 13 .*format 1.*before offset 14"):
        next(batches)


def test_bytes_without_a_whole_batch_are_an_error() -> None:
    data = build_batch(RECORDS, 10)
    with pytest.raises(CorruptRecordError, match=r"orders-3 .* offset 10 .*without a whole batch"):
        list(read_batches(PLACE, 10, data[:-1], ()))
    assert len(list(read_batches(PLACE, 10, data + data[:-1], ()))) == 1
    assert not list(read_batches(PLACE, 10, b"", ()))
    assert not list(read_batches(PLACE, 10, None, ()))


# ---------------------------------------------------------------------------------------- transactions


def test_an_aborted_producer_is_left_out_from_the_first_offset_up_to_its_marker() -> None:
    log = NaiveLog()
    log.append([NewRecord(b"committed")], producer_id=1)
    log.end(1, is_commit=True)
    log.append([NewRecord(b"aborted")], producer_id=1)
    log.append([NewRecord(b"plain")])
    log.append([NewRecord(b"other")], producer_id=2)
    log.end(1, is_commit=False)
    log.append([NewRecord(b"again")], producer_id=1)
    log.end(1, is_commit=True)
    data, aborted = log.fetch(0, 1 << 20, log.end_offset)
    assert aborted == (AbortedTransaction(producer_id=1, first_offset=2),)
    found = [each.batch for each in read_batches(PLACE, 0, data, aborted) if each.is_visible]
    rows = RawRecords(PLACE, found, 0).rows()
    assert [row[2] for row in rows] == [b"committed", b"plain", b"other", b"again"]


def test_a_record_of_an_aborted_producer_that_is_in_no_transaction_is_read() -> None:
    data = build_batch([NewRecord(b"plain")], 5, BatchOptions(producer_id=1, producer_epoch=0))
    (found,) = read_batches(PLACE, 5, data, [AbortedTransaction(producer_id=1, first_offset=0)])
    assert found.is_visible


new_records = st.builds(
    NewRecord,
    st.none() | st.binary(max_size=5),
    st.none() | st.binary(max_size=5),
    st.integers(0, 2**40),  # aiokafka gives a first record without timestamp that of the next one
    st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2),
)


@st.composite
def logs(draw: st.DrawFn) -> NaiveLog:
    """Any sequence of batches, transactions, markers and gaps."""
    log = NaiveLog()
    for _ in range(draw(st.integers(0, 8))):
        producer_id = draw(st.none() | st.integers(1, 3))
        if producer_id is not None and draw(st.booleans()):
            log.end(producer_id, is_commit=draw(st.booleans()))
            continue
        records = draw(st.lists(new_records, min_size=1, max_size=4))
        gaps = draw(st.lists(st.integers(0, 2), min_size=len(records) + 1, max_size=len(records) + 1))
        deltas = [at + sum(gaps[: at + 1]) for at in range(len(records))]
        made = [
            NewRecord(each.value, each.key, each.timestamp_ms, each.headers, offset_delta=delta)
            for each, delta in zip(records, deltas, strict=True)
        ]
        options = BatchOptions(
            compression=draw(st.sampled_from(list(Compression))), last_offset_delta=deltas[-1] + gaps[-1]
        )
        append_time_ms = draw(st.none() | st.integers(0, 2**40))
        log.append(made, options, producer_id=producer_id, append_time_ms=append_time_ms)
        log.end_offset += draw(st.integers(0, 2))
    return log


@given(logs(), st.integers(0, 40), st.integers(0, 300), st.booleans())
def test_any_log_is_read_as_the_naive_one_says(
    log: NaiveLog, start: int, max_bytes: int, is_committed_only: bool
) -> None:
    end_offset = log.stable_offset if is_committed_only else log.end_offset
    position, rows, counts = start, list[RecordRow](), 0
    keys = list[bytes]()
    while True:
        data, aborted = log.fetch(position, max_bytes, end_offset)
        if not data:
            break
        fetched = list(read_batches(PLACE, position, data, aborted if is_committed_only else ()))
        found = [each.batch for each in fetched if each.is_visible]
        if found:
            records = RawRecords(PLACE, found, position)
            rows += records.rows()
            counts += len(records)
            keys += records.columns().keys
        position = fetched[-1].batch.header.next_offset
    assert rows == log.rows(start, is_committed_only=is_committed_only)
    assert counts == len(rows)
    assert keys == [row[1] for row in rows if row[1] is not None]
