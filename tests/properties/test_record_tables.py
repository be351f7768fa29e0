"""Tables straight from the batches against the slow way: iterating over the records."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import crc32c, with_log_append_time
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch, build_control_batch
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.columns import BLOCK_RECORDS
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords
from kafka_groups.spark.records.arrow import to_table
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from tests.unit.share.deliveries import acquired, batch, decoded

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEAR_9999_MS = 253_402_300_799_000

payloads = st.none() | st.binary(max_size=30)
headers = st.lists(st.tuples(st.text(max_size=5), payloads), max_size=3)
timestamps = st.just(1_700_000_000_000) | st.integers(0, YEAR_9999_MS)
KINDS = st.sampled_from(["sound", "sound", "control", "unreadable", "torn", "hole"])
Ranges = list[tuple[int, int, int]]
Log = tuple[bytes, Ranges]


@st.composite
def sound_batches(draw: st.DrawFn, first: int) -> tuple[bytes, int]:
    """A batch, perhaps compacted, compressed or stamped by the broker; with the offset after it."""
    deltas = sorted(draw(st.sets(st.integers(0, 8), min_size=1)))
    plain = draw(st.booleans())
    records = [
        NewRecord(
            draw(payloads),
            key=draw(payloads),
            timestamp_ms=draw(timestamps),
            headers=() if plain else draw(headers),
            offset_delta=delta,
        )
        for delta in deltas
    ]
    last = deltas[-1] + draw(st.integers(0, 2))
    options = BatchOptions(compression=draw(st.sampled_from(Compression)), last_offset_delta=last)
    built = bytearray(build_batch(records, first, options))
    if draw(st.booleans()):
        with_log_append_time(built, draw(timestamps))
    return bytes(built), first + last + 1


def unreadable(first: int, readable: int) -> bytes:
    """A batch of nine whose checksum is right and whose last records are nonsense."""
    blob = bytearray(batch(first, first + 8))
    start = 61 + (len(blob) - 61) * readable // 9
    blob[start:] = b"\x7f" * (len(blob) - start)
    blob[17:21] = crc32c(memoryview(blob)[21:]).to_bytes(4, "big")
    return bytes(blob)


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Batches of all kinds, with ranges of offsets that were acquired of them."""
    blob, offset = b"", draw(st.integers(0, 2**40))
    first = offset
    for kind in draw(
        st.lists(st.sampled_from(["sound", "sound", "control", "unreadable", "torn", "hole"]), min_size=1)
    ):
        if kind == "sound":
            data, offset = draw(sound_batches(offset))
            blob += data
        elif kind == "control":
            blob += build_control_batch(offset, is_commit=True, producer_id=1)
            offset += 1
        elif kind == "unreadable":
            blob += unreadable(offset, draw(st.integers(0, 8)))
            offset += 9
        elif kind == "torn":
            data = batch(offset, offset + 2)
            blob += data[:-1] + bytes([data[-1] ^ 0xFF])
            offset += 3
        else:
            offset += draw(st.integers(1, 3))
    return blob, draw(acquired_ranges(first, offset))


@st.composite
def acquired_ranges(draw: st.DrawFn, first: int, after: int) -> Ranges:
    cuts = sorted(draw(st.sets(st.integers(first, after), min_size=2, max_size=8)) | {after})
    pairs = [(a, b - 1) for a, b in itertools.pairwise(cuts)]
    chosen = [pair for pair in pairs[:-1] if draw(st.booleans())] + pairs[-1:]
    return [(a, b, draw(st.integers(1, 2**15 - 1))) for a, b in chosen]


def delivered(log: Log, **decoder: Any) -> tuple[list[DeliveredRecords], list[str]]:
    """The deliveries of one fetch and the errors between them."""
    blob, ranges = log
    items = decoded(Decoder(**decoder), acquired(*ranges), blob)
    errors = [str(item) for item in items if isinstance(item, KafkaGroupsError)]
    return [item for item in items if isinstance(item, DeliveredRecords)], errors


def row(record: AnyRecord) -> dict[str, Any]:
    at = None if record.timestamp is None else EPOCH + timedelta(milliseconds=record.timestamp)
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": at,
        "timestampType": record.timestamp_type,
        "key": record.raw_key,
        "value": record.raw_value,
        "headers": [{"key": key, "value": value} for key, value in record.headers],
        "delivery_count": record.delivery_count,
    }


def rows_of(deliveries: Sequence[DeliveredRecords]) -> list[dict[str, Any]]:
    return [row(record) for delivery in deliveries for record in delivery]


def rows_of_readable(deliveries: Sequence[DeliveredRecords]) -> list[dict[str, Any]]:
    """The slow way; a batch that turned out to be unreadable may have given some records before it did."""
    rows = [(delivery, row(record)) for delivery in deliveries for record in delivery]
    return [r for delivery, r in rows if delivery.marks[r["offset"] - delivery.first_offset] != m.REJECT]


@given(logs(), st.sampled_from([{}, {"value_deserializer": bytes.upper}]))
def test_a_table_has_what_iterating_delivers(log: Log, decoder: dict[str, Any]) -> None:
    (slow, slow_errors), (fast, fast_errors) = delivered(log, **decoder), delivered(log, **decoder)
    expected = rows_of(slow) if decoder else rows_of_readable(slow)  # deserialisers go through all batches before
    table = to_table(ShareRecords(fast))
    assert table.schema.equals(RECORD_SCHEMA)
    table.validate(full=True)
    assert table.to_pylist() == expected
    assert [delivery.marks for delivery in fast] == [delivery.marks for delivery in slow]
    assert fast_errors == slow_errors
    assert [str(delivery.undecodable) for delivery in fast] == [str(delivery.undecodable) for delivery in slow]
    assert to_table(ShareRecords(fast)).equals(table), "asking twice gives the same"


@given(logs(), st.lists(st.sampled_from(RECORD_SCHEMA.names), unique=True, min_size=1))
def test_a_projection_is_the_columns_of_the_whole(log: Log, columns: list[str]) -> None:
    deliveries, _ = delivered(log)
    records: AnyRecords = ShareRecords(deliveries)
    assert to_table(records, columns).equals(to_table(records).select(columns))


@given(logs(), st.data())
def test_renewed_records_that_come_back_are_a_table_too(log: Log, data: st.DataObject) -> None:
    (delivery,), _ = delivered(log)
    positions = data.draw(st.sets(st.integers(0, len(delivery.marks) - 1)))
    runs = [(p, p) for p in positions if delivery.marks[p] == m.OPEN]
    slow, fast = delivery.redelivery(runs), delivery.redelivery(runs)
    expected = rows_of_readable([slow])
    assert to_table(ShareRecords([fast])).to_pylist() == expected


def test_no_records_are_a_table_without_rows() -> None:
    assert to_table(ShareRecords()).equals(RECORD_SCHEMA.empty_table())
    assert to_table(ShareRecords(), ["value", "offset"]).schema.names == ["value", "offset"]


@pytest.mark.parametrize("columns", [["value", "nonsense"], ["value", "value"], "value"])
def test_columns_that_are_not_there_are_refused(columns: Sequence[str]) -> None:
    with pytest.raises(ConfigurationError, match="topic, partition, offset"):
        to_table(ShareRecords(), columns)


def test_timestamps_that_microseconds_cannot_say_are_null_and_so_is_none() -> None:
    stamps = [2**62, 1_700_000_000_123, -1, (2**63 - 1) // 1000]
    data = build_batch([NewRecord(b"v", timestamp_ms=stamp) for stamp in stamps])
    (delivery,), _ = delivered((data, [(0, 3, 1)]))
    slow = [record.timestamp for record in delivery]
    table = to_table(ShareRecords([delivery]), ["timestamp"])
    microseconds = table["timestamp"].cast(pa.int64()).to_pylist()
    assert microseconds == [None if t in (2**62, -1) else (t or 0) * 1000 for t in slow]
    assert microseconds[1] == 1_700_000_000_123_000


def test_batches_stamped_by_the_producer_and_by_the_broker_stand_in_one_block() -> None:
    stamped = bytearray(batch(300, 599))
    with_log_append_time(stamped, 1_700_000_000_000)
    blob = b"".join([batch(0, 299), bytes(stamped), batch(600, 899)])
    (parsed,), _ = delivered((blob, [(0, 899, 1)]))
    (partly,), _ = delivered((blob, [(1, 898, 1)]))
    assert to_table(ShareRecords([parsed]))["timestampType"].to_pylist() == [0] * 300 + [1] * 300 + [0] * 300
    assert to_table(ShareRecords([partly]))["timestampType"].to_pylist() == [0] * 299 + [1] * 300 + [0] * 299


def test_many_records_come_in_blocks_and_a_block_forgets_an_unreadable_batch() -> None:
    sound = [batch(first, first + 999) for first in range(0, 20_000, 1000)]
    blob = b"".join([*sound[:10], unreadable(10_000, 4), *sound[11:]])
    (delivery,), _ = delivered((blob, [(0, 4_999, 1), (5_000, 19_999, 3)]))
    table = to_table(ShareRecords([delivery]))
    assert table["offset"].to_pylist() == [*range(10_000), *range(11_000, 20_000)]
    assert table["value"].to_pylist() == [b"v%d" % offset for offset in table["offset"].to_pylist()]
    assert table["delivery_count"].to_pylist() == [1] * 5_000 + [3] * 14_000
    assert table["key"].to_pylist() == [b"k"] * 19_000
    assert all(len(chunk) >= BLOCK_RECORDS for chunk in table["value"].chunks[:-1])
    assert set(delivery.marks[10_000:10_009]) == {m.REJECT}
