import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol.compression import Compression, decompress
from kafka_groups.protocol.record_batch import HEADER_BYTES, crc32c, iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.types import Header

INT64_MAX = 2**63 - 1

codecs = st.sampled_from(list(Compression))
headers = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3)


@st.composite
def record_lists(draw: st.DrawFn) -> list[NewRecord]:
    payloads = st.none() | st.binary(max_size=200)
    gaps = draw(st.lists(st.integers(1, 1_000), min_size=1, max_size=20))
    deltas = [sum(gaps[: i + 1]) - 1 for i in range(len(gaps))]
    return [
        NewRecord(
            draw(payloads),
            key=draw(payloads),
            timestamp_ms=draw(st.integers(0, 2**48)),
            headers=draw(headers),
            offset_delta=delta,
        )
        for delta in deltas
    ]


Decoded = tuple[int, int | None, bytes | None, bytes | None, list[Header]]


def decode(records: bytes | memoryview) -> list[Decoded]:
    return [
        (record.offset, record.timestamp, record.key, record.value, record.headers)
        for batch in iter_batches(records)
        for record in batch.records(check_crc=True)
    ]


@given(record_lists(), codecs, st.integers(0, 2**40))
def test_every_batch_comes_back_through_every_codec(
    records: list[NewRecord], codec: Compression, base_offset: int
) -> None:
    data = build_batch(records, base_offset, BatchOptions(compression=codec))
    assert decode(data) == [
        (base_offset + (r.offset_delta or 0), r.timestamp_ms, r.key, r.value, list(r.headers)) for r in records
    ]


@given(record_lists(), codecs, st.data())
def test_a_batch_with_flipped_bytes_is_corrupt_or_another_batch_but_never_a_crash(
    records: list[NewRecord], codec: Compression, data: st.DataObject
) -> None:
    blob = bytearray(build_batch(records, 0, BatchOptions(compression=codec)))
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        decode(bytes(blob))
    except CorruptRecordError:
        return


@given(record_lists(), codecs, st.data())
def test_malformed_records_under_a_valid_checksum_are_corrupt_and_nothing_worse(
    records: list[NewRecord], codec: Compression, data: st.DataObject
) -> None:
    blob = bytearray(build_batch(records, 0, BatchOptions(compression=codec)))
    start = data.draw(st.integers(HEADER_BYTES, len(blob)))
    blob[start:] = data.draw(st.binary(max_size=40) | st.just(b"\xff" * 30) | st.just(bytes(30)))
    if data.draw(st.booleans()):
        blob[57:61] = data.draw(st.binary(min_size=4, max_size=4))
    struct.pack_into(">i", blob, 8, len(blob) - 12)
    struct.pack_into(">I", blob, 17, crc32c(memoryview(blob)[21:]))
    for batch in iter_batches(bytes(blob)):
        batch.check_crc()
        try:
            list(batch.records())
        except CorruptRecordError:
            return


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_no_batches(blob: bytes) -> None:
    try:
        decode(blob)
    except CorruptRecordError:
        return


@given(record_lists(), st.binary(max_size=100), st.integers(1, 120))
def test_views_into_the_middle_of_a_frame_decode_alike(records: list[NewRecord], rest: bytes, cut: int) -> None:
    data = build_batch(records)
    frame = rest + data + data[:cut] + rest
    view = memoryview(frame)[len(rest) : len(rest) + len(data) + min(cut, len(data) - 1)]
    assert decode(view) == decode(data)


@given(st.sampled_from([codec for codec in Compression if codec is not Compression.NONE]), st.binary(max_size=300))
def test_decompression_of_arbitrary_bytes_is_bounded(codec: Compression, data: bytes) -> None:
    try:
        assert len(decompress(codec, data, max_bytes=10_000)) <= 10_000
    except CorruptRecordError:
        return


@pytest.mark.parametrize("extreme", [0, -1, INT64_MAX - 10])
def test_extreme_base_offsets(extreme: int) -> None:
    data = build_batch([NewRecord(b"v")], extreme)
    assert [offset for offset, *_ in decode(data)] == [extreme]
