import random
import struct
from collections.abc import Iterator

import aiokafka.record._crecords as compiled
import google_crc32c
import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol import record_batch
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import (
    HEADER_BYTES,
    RecordBatch,
    crc32c,
    iter_batches,
    parse_header,
    rewrite,
    with_log_append_time,
)
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch, build_control_batch

RECORDS = [
    NewRecord(b"v0", key=b"k0", timestamp_ms=1_000, headers=[("h", b"x"), ("h", None)]),
    NewRecord(None, key=b"", timestamp_ms=999),
    NewRecord(b"", key=None, timestamp_ms=1_500),
]


def only(records: bytes | memoryview) -> RecordBatch:
    (batch,) = iter_batches(records)
    return batch


def with_valid_crc(data: bytearray) -> bytes:
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return bytes(data)


def test_the_compiled_codec_is_the_one_in_use() -> None:
    # Without the extension aiokafka falls back to Python silently, which is 50 times slower.
    assert DefaultRecordBatch is compiled.DefaultRecordBatch
    assert DefaultRecordBatchBuilder is compiled.DefaultRecordBatchBuilder
    record = next(only(build_batch(RECORDS)).records())
    assert type(record).__module__ == "aiokafka.record._crecords.default_records"


@pytest.fixture
def without_google_crc32c(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine where google-crc32c computes in Python."""
    record_batch._checksum.cache_clear()
    monkeypatch.setattr("google_crc32c.implementation", "python")
    yield
    record_batch._checksum.cache_clear()


CHECKED = b"123456789"
CHECKSUM = 0xE3069283
"""What the catalogue of parametrised CRC algorithms gives as CRC-32C's check value."""


def test_the_checksum_of_any_bytes_like_object_is_crc_32c() -> None:
    assert record_batch._checksum() is google_crc32c.value
    given = (CHECKED, bytearray(CHECKED), memoryview(CHECKED), memoryview(b"x" + CHECKED)[1:])
    assert [crc32c(data) for data in given] == [CHECKSUM] * 4
    assert crc32c(b"") == 0


@pytest.mark.usefixtures("without_google_crc32c")
def test_without_its_compiled_library_the_checksum_is_computed_by_another_compiled_one() -> None:
    assert record_batch._checksum() is compiled.crc32c_cython
    for size in (0, 1, 7, 64, 1_001, 70_000):
        data = random.Random(size).randbytes(size)
        assert crc32c(memoryview(data)) == google_crc32c.value(data)


@pytest.mark.parametrize("codec", list(Compression))
def test_all_five_compressions_are_active(codec: Compression) -> None:
    records = [NewRecord(b"value" * 40, timestamp_ms=i) for i in range(100)]
    plain = build_batch(records)
    data = build_batch(records, 7, BatchOptions(compression=codec))
    batch = only(data)
    assert batch.header.compression is codec
    assert (len(data) < len(plain)) is (codec is not Compression.NONE)
    decoded = [(record.offset, record.timestamp, record.value) for record in batch.records(check_crc=True)]
    assert decoded == [(7 + i, i, b"value" * 40) for i in range(100)]


def test_header_and_records_of_a_batch() -> None:
    options = BatchOptions(leader_epoch=4, producer_id=77, producer_epoch=3, base_sequence=2**31 - 2)
    batch = only(build_batch(RECORDS, 100, options))
    header = batch.header
    assert (header.base_offset, header.last_offset, header.next_offset) == (100, 102, 103)
    assert (header.leader_epoch, header.magic, header.record_count) == (4, 2, 3)
    assert (header.first_timestamp_ms, header.max_timestamp_ms) == (1_000, 1_500)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, 2**31 - 2)
    assert header.last_sequence == 0  # 2^31 - 2, 2^31 - 1, 0
    assert header.size_bytes == len(batch.data)
    assert (header.is_control, header.is_transactional, header.is_log_append_time) == (False, False, False)
    assert header.is_dense
    decoded = [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in batch.records(check_crc=True)]
    assert decoded == [
        (100, 1_000, b"k0", b"v0", [("h", b"x"), ("h", None)]),
        (101, 999, b"", None, []),
        (102, 1_500, None, b"", []),
    ]


def test_batches_of_a_blob_are_views_into_it() -> None:
    first, second = build_batch(RECORDS, 0), build_batch(RECORDS[:1], 3)
    blob = first + second
    batches = list(iter_batches(blob))
    assert [batch.header.base_offset for batch in batches] == [0, 3]
    assert [bytes(batch.data) for batch in batches] == [first, second]
    assert all(batch.data.obj is blob for batch in batches)


@pytest.mark.parametrize("missing", [1, 10, HEADER_BYTES, 70])
def test_a_batch_cut_off_at_the_end_is_left_out(missing: int) -> None:
    first, second = build_batch(RECORDS, 0), build_batch(RECORDS, 3)
    assert missing < len(second)
    batches = list(iter_batches(first + second[:-missing]))
    assert [batch.header.base_offset for batch in batches] == [0]


@pytest.mark.parametrize("blob", [None, b"", b"\x00" * 16])
def test_a_blob_without_batches(blob: bytes | None) -> None:
    assert list(iter_batches(blob)) == []


def test_gaps_within_and_after_the_records() -> None:
    records = [NewRecord(b"a"), NewRecord(b"b", offset_delta=4), NewRecord(b"c")]
    batch = only(build_batch(records, 10, BatchOptions(last_offset_delta=9)))
    assert [(record.offset, record.value) for record in batch.records(check_crc=True)] == [
        (10, b"a"),
        (14, b"b"),
        (15, b"c"),
    ]
    assert batch.header.next_offset == 20
    assert not batch.header.is_dense


def test_control_batches() -> None:
    batch = only(build_control_batch(5, is_commit=True, producer_id=9))
    assert batch.header.is_control
    assert batch.header.is_transactional
    (marker,) = batch.records(check_crc=True)
    assert (marker.offset, marker.key) == (5, b"\x00\x00\x00\x01")


def test_the_leaders_fields_are_outside_the_checksum() -> None:
    data = bytearray(build_batch(RECORDS, 0))
    rewrite(data, base_offset=1_000, leader_epoch=12)
    batch = only(bytes(data))
    batch.check_crc()
    assert (batch.header.base_offset, batch.header.leader_epoch) == (1_000, 12)
    assert [record.offset for record in batch.records()] == [1_000, 1_001, 1_002]


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
def test_log_append_time_replaces_all_timestamps(codec: Compression) -> None:
    data = bytearray(build_batch(RECORDS, 0, BatchOptions(compression=codec)))
    with_log_append_time(data, 123_456)
    batch = only(bytes(data))
    assert batch.header.is_log_append_time
    assert [(r.timestamp, r.timestamp_type) for r in batch.records(check_crc=True)] == [(123_456, 1)] * 3


def test_a_flipped_bit_is_found() -> None:
    data = bytearray(build_batch(RECORDS))
    data[-1] ^= 1
    batch = only(bytes(data))
    with pytest.raises(CorruptRecordError, match="offset 0: the checksum differs"):
        batch.check_crc()
    with pytest.raises(CorruptRecordError, match="checksum"):
        list(batch.records(check_crc=True))


def test_old_formats_are_refused() -> None:
    data = bytearray(build_batch(RECORDS))
    data[16] = 1
    with pytest.raises(CorruptRecordError, match="Unsupported record format 1"):
        list(iter_batches(bytes(data)))


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, 48])
def test_impossible_lengths_are_refused(length: int) -> None:
    data = bytearray(build_batch(RECORDS))
    struct.pack_into(">i", data, 8, length)
    with pytest.raises(CorruptRecordError, match="length"):
        list(iter_batches(bytes(data)))


def test_a_header_needs_all_its_bytes() -> None:
    with pytest.raises(CorruptRecordError, match="61 bytes, but only 60 are left"):
        parse_header(build_batch(RECORDS)[:60])


@pytest.mark.parametrize("count", [-1, 2, 4, 2**31 - 1])
def test_a_wrong_number_of_records_is_corrupt(count: int) -> None:
    data = bytearray(build_batch(RECORDS))
    struct.pack_into(">i", data, 57, count)
    with pytest.raises(CorruptRecordError):
        list(only(with_valid_crc(data)).records(check_crc=True))


def test_an_unknown_compression_is_corrupt() -> None:
    data = bytearray(build_batch(RECORDS))
    struct.pack_into(">h", data, 21, 5)
    batch = only(with_valid_crc(data))
    with pytest.raises(CorruptRecordError, match="compression 5"):
        list(batch.records(check_crc=True))


@pytest.mark.parametrize(
    "record",
    [
        b"\x80" * 12,  # a length that never ends
        b"\x0e\x00\x00\x00" + b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a key of 2^63 bytes, less or more
        b"\x0e\x00\x00\x00" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\x00" * 20,  # ditto, of positive length
        b"\x0e\x00\x00\x00\x01\x01\x7e",  # headers that are not there
        b"\x0c\x00\x00\x00\x01\x01\x01",  # a negative number of headers
        b"\x12\x00\x00\x00\x01\x01\x02\x02\xff\x01",  # a header key that is not UTF-8
        b"",
    ],
)
def test_malformed_records_are_corrupt_and_nothing_worse(record: bytes) -> None:
    data = bytearray(build_batch([NewRecord(b"v")])[:HEADER_BYTES] + record)
    struct.pack_into(">i", data, 8, len(data) - 12)
    with pytest.raises(CorruptRecordError):
        list(only(with_valid_crc(data)).records(check_crc=True))


def test_errors_while_iterating_tell_the_batch() -> None:
    data = bytearray(build_batch(RECORDS, 40))
    struct.pack_into(">i", data, 57, 4)
    records = only(with_valid_crc(data)).records()
    assert [next(records).offset for _ in range(3)] == [40, 41, 42]
    with pytest.raises(CorruptRecordError, match="at offset 40"):
        next(records)
