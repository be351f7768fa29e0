"""Records parsed all at once against the codec's own reading: the same records, or no answer."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import RecordBatch, iter_batches, with_log_append_time
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.spark.records.parsing import parse

Row = tuple[int, int | None, bytes | None, bytes | None]


@st.composite
def blobs(draw: st.DrawFn) -> bytes:
    """Batches of records of which most have one size; sizes in one, two and three bytes."""
    blob, offset = b"", draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(1, 3))):
        count = draw(st.integers(1, 150))
        key = draw(st.none() | st.binary(max_size=70))
        value = draw(st.none() | st.binary(max_size=70) | st.integers(50, 20_000).map(bytes))
        first_ms, step_ms = draw(st.integers(0, 2**42)), draw(st.sampled_from([0, 1, 70, -1, 10_000_000]))
        records = [NewRecord(value, key=key, timestamp_ms=max(0, first_ms + n * step_ms)) for n in range(count)]
        odd = draw(st.integers(0, count * 4))
        if odd < count:
            records[odd] = NewRecord(b"other" * draw(st.integers(0, 3)), headers=[("h", b"")] * draw(st.integers(0, 1)))
        batch = bytearray(build_batch(records, offset, BatchOptions(compression=draw(st.sampled_from(Compression)))))
        if draw(st.booleans()):
            with_log_append_time(batch, 1_700_000_000_000)
        blob += batch
        offset += count
    return blob


def read(batches: list[RecordBatch]) -> list[Row] | None:
    """The records as the codec reads them; None if it cannot."""
    try:
        return [(r.offset, r.timestamp, r.key, r.value) for batch in batches for r in batch.records()]
    except CorruptRecordError:
        return None


def parsed(batches: list[RecordBatch]) -> list[Row] | None:
    block = parse(batches)
    if block is None:
        return None
    for array in (block.payloads, block.keys(), block.values()):
        array.validate(full=True)
    columns: list[Any] = [block.offsets.tolist(), block.timestamps_ms.tolist()]
    return list(zip(*columns, block.keys().to_pylist(), block.values().to_pylist(), strict=True))


@given(blobs())
def test_what_is_parsed_is_what_is_read(blob: bytes) -> None:
    batches = list(iter_batches(blob))
    rows = parsed(batches)
    assert rows is None or rows == read(batches)


@settings(max_examples=3 * settings().max_examples)
@given(blobs(), st.lists(st.tuples(st.integers(0), st.integers(1, 255)), min_size=1, max_size=4))
@example(build_batch([NewRecord(b"v")] * 40), [(61, 0x80)])
def test_bytes_that_are_wrong_are_no_answer_or_what_the_codec_reads(blob: bytes, flips: list[tuple[int, int]]) -> None:
    wrong = bytearray(blob)
    for position, bits in flips:
        at = 57 + position % (len(wrong) - 57)  # from the number of records of the first batch on
        wrong[at] ^= bits
    try:
        batches = list(iter_batches(bytes(wrong)))
    except CorruptRecordError:
        return
    rows = parsed(batches)
    assert rows is None or rows == read(batches)


def test_records_of_one_size_are_parsed() -> None:
    """Sizes of headers grow twice within the batch, with the offsets and the timestamps."""
    records = [NewRecord(b"%09d" % n, key=b"k" * 9, timestamp_ms=1_700_000_000_000 + n) for n in range(20_000)]
    blob = build_batch(records) + build_batch([NewRecord()] * 100, 20_000)
    batches = list(iter_batches(blob))
    rows = parsed(batches)
    assert rows == read(batches)
    assert rows is not None
    assert rows[-1] == (20_099, 0, None, None)


def test_what_is_out_of_the_ordinary_is_left_to_the_codec() -> None:
    differing = build_batch([NewRecord(b"v" * (n % 7)) for n in range(300)])
    headers = build_batch([NewRecord(b"v", headers=[("h", None)])] * 300)
    gaps = build_batch([NewRecord(b"v", offset_delta=2 * n) for n in range(300)])
    huge = build_batch([NewRecord(bytes(1 << 21))] * 2)
    for blob in (differing, headers, gaps, huge):
        assert parse(list(iter_batches(blob))) is None
