"""Records of a share group as Arrow tables, read directly from the batches of the log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.record_batch import RecordBatch
from kafka_groups.share.delivery.columns import FIELDS, RecordColumns
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.share_records import AnyRecords, deliveries_of
from kafka_groups.spark.records.parsing import FEWEST_RECORDS, Integers, ParsedBlock, parse
from kafka_groups.spark.records.schema import HEADER_TYPE, RECORD_SCHEMA, TIMESTAMP_TYPE

__all__ = ["to_table"]

_MAX_TIMESTAMP_MS: Final = (2**63 - 1) // 1000
"""The latest time that fits into Arrow's microseconds, in milliseconds: some 292,000 years."""

_NO_TIMESTAMP: Final = -1
_NO_HEADERS: Final = pa.array([], HEADER_TYPE.value_type)

_COSTLY: Final = frozenset({"timestamp", "headers"})
"""Columns that take longer to read record by record than to parse. Keys and values alone do not."""


def to_table(records: AnyRecords, columns: Sequence[str] | None = None) -> pa.Table:
    """Convert the records of a poll to a table with one row per record, in iteration order.

    Keys and values are the bytes from the wire, even if the consumer has deserialisers. A batch of the log that cannot
    be read has no rows; it is rejected, and the consumer's next poll raises the error. A timestamp is null if the
    producer did not set it, or if it does not fit into microseconds.

    Args:
        records: The records of one poll.
        columns: Names of the columns, in the order you want; None for all of `RECORD_SCHEMA`. Other columns are not
            created and, where possible, not read.

    Returns:
        A table with the types of `RECORD_SCHEMA`, in chunks of a few thousand rows.

    Raises:
        ConfigurationError: A column is unknown or named twice.
    """
    schema = _schema_of(columns)
    wanted = FIELDS.intersection(schema.names)
    blocks = [
        pa.Table.from_arrays([_BUILDERS[name](block, delivery) for name in schema.names], schema=schema)
        for delivery in deliveries_of(records)
        for block in _blocks_of(delivery, wanted)
        if block.size
    ]
    return pa.concat_tables(blocks) if blocks else schema.empty_table()


def _schema_of(columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return RECORD_SCHEMA
    unknown = [name for name in columns if name not in _BUILDERS]
    if isinstance(columns, str) or unknown or len(set(columns)) < len(columns):
        raise ConfigurationError(f"columns={columns!r}: give names out of {', '.join(RECORD_SCHEMA.names)}, each once")
    return pa.schema([RECORD_SCHEMA.field(name) for name in columns])


# -------------------------------------------------------------------------------------------- blocks


class _Block(Protocol):
    """The records of one delivery; each method is called at most once."""

    @property
    def size(self) -> int: ...
    def offsets(self) -> Integers: ...
    def timestamps(self) -> pa.Array: ...
    def timestamp_types(self) -> pa.Array: ...
    def keys(self) -> pa.Array: ...
    def values(self) -> pa.Array: ...
    def headers(self) -> pa.Array: ...


def _blocks_of(delivery: DeliveredRecords, wanted: frozenset[str]) -> Iterator[_Block]:
    for batches in delivery.blocks():
        parsed = parse(batches) if wanted & _COSTLY and _is_ordinary(delivery, batches) else None
        yield _Read(delivery.columns(batches, wanted), batches) if parsed is None else _Parsed(parsed, batches)
    yield _Deserialized(delivery, wanted)


def _is_ordinary(delivery: DeliveredRecords, batches: Sequence[RecordBatch]) -> bool:
    """Return whether parsing whole batches is worthwhile: enough records, one for each offset, all delivered."""
    if sum(batch.header.record_count for batch in batches) < FEWEST_RECORDS:
        return False
    return all(batch.header.is_dense and delivery.delivers_all_of(batch) for batch in batches)


class _Parsed:
    def __init__(self, block: ParsedBlock, batches: Sequence[RecordBatch]) -> None:
        self._block = block
        self._batches = batches
        self.size = block.size
        self.keys = block.keys
        self.values = block.values

    def offsets(self) -> Integers:
        return self._block.offsets

    def timestamps(self) -> pa.Array:
        return _timestamps_of(self._block.timestamps_ms)

    def timestamp_types(self) -> pa.Array:
        return _timestamp_types_of(self._batches, self)

    def headers(self) -> pa.Array:
        return _no_headers(self.size)


class _Read:
    def __init__(self, columns: RecordColumns, batches: Sequence[RecordBatch] = ()) -> None:
        self._columns = columns
        self._batches = batches
        self.size = columns.size

    def offsets(self) -> Integers:
        return np.concatenate([_integers(piece) for piece in self._columns.offsets])

    def timestamps(self) -> pa.Array:
        given = self._columns.timestamps_ms
        return _timestamps_of(_integers([_NO_TIMESTAMP if ms is None else ms for ms in given]))

    def timestamp_types(self) -> pa.Array:
        return _timestamp_types_of(self._batches, self)

    def keys(self) -> pa.Array:
        return pa.array(self._columns.keys, pa.binary())

    def values(self) -> pa.Array:
        return pa.array(self._columns.values, pa.binary())

    def headers(self) -> pa.Array:
        headers, size = self._columns.headers, self.size
        if not headers:
            return _no_headers(size)
        ends = np.zeros(size + 1, np.int32)
        np.cumsum(np.bincount(self._columns.header_rows, minlength=size), out=ends[1:])
        keys = pa.array([key for key, _ in headers], pa.string())
        values = pa.array([value for _, value in headers], pa.binary())
        structs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER_TYPE.value_type))
        return pa.ListArray.from_arrays(pa.array(ends), structs, type=HEADER_TYPE)


class _Deserialized(_Read):
    def __init__(self, delivery: DeliveredRecords, wanted: frozenset[str]) -> None:
        super().__init__(delivery.deserialized_columns(wanted))
        self._delivery = delivery

    def timestamp_types(self) -> pa.Array:
        return pa.array(self._delivery.deserialized_timestamp_types(), pa.int32())


def _integers(given: Sequence[int]) -> Integers:
    if isinstance(given, range):
        return np.arange(given.start, given.stop, dtype=np.int64)
    return np.fromiter(given, np.int64, len(given))


def _no_headers(size: int) -> pa.Array:
    ends = pa.py_buffer(np.zeros(size + 1, np.int32))
    return pa.Array.from_buffers(HEADER_TYPE, size, [None, ends], children=[_NO_HEADERS])


def _timestamps_of(milliseconds: Integers) -> pa.Array:
    least, most = milliseconds.min(), milliseconds.max()
    # The common case: no record lacks a timestamp, and all fit into microseconds, so the numbers can be taken as they
    # are.
    if least >= 0 and most <= _MAX_TIMESTAMP_MS:
        return pa.Array.from_buffers(TIMESTAMP_TYPE, len(milliseconds), [None, pa.py_buffer(milliseconds * 1000)])
    unsaid = (milliseconds == _NO_TIMESTAMP) | (milliseconds > _MAX_TIMESTAMP_MS) | (milliseconds < -_MAX_TIMESTAMP_MS)
    return pa.array(np.where(unsaid, 0, milliseconds) * 1000, mask=unsaid).cast(TIMESTAMP_TYPE)


def _timestamp_types_of(batches: Sequence[RecordBatch], block: _Block) -> pa.Array:
    """Read the types from the batches: all records of a batch have the same one."""
    types = [int(batch.header.is_log_append_time) for batch in batches]
    if len(set(types)) == 1:
        return pa.repeat(pa.scalar(types[0], pa.int32()), block.size)
    firsts = np.array([batch.header.base_offset for batch in batches], np.int64)
    return pa.array(np.array(types, np.int32)[np.searchsorted(firsts, block.offsets(), side="right") - 1])


# -------------------------------------------------------------------------------------------- columns


def _topics(block: _Block, delivery: DeliveredRecords) -> pa.Array:
    return pa.repeat(pa.scalar(delivery.topic, pa.string()), block.size)


def _partitions(block: _Block, delivery: DeliveredRecords) -> pa.Array:
    return pa.repeat(pa.scalar(delivery.partition, pa.int32()), block.size)


def _delivery_counts(block: _Block, delivery: DeliveredRecords) -> pa.Array:
    ranges = delivery.ranges
    if len(ranges) == 1:
        return pa.repeat(pa.scalar(ranges[0].delivery_count, pa.int16()), block.size)
    counts = np.array([acquired.delivery_count for acquired in ranges], np.int16)
    firsts = np.array([acquired.first_offset for acquired in ranges], np.int64)
    return pa.array(counts[np.searchsorted(firsts, block.offsets(), side="right") - 1])


_BUILDERS: Mapping[str, Callable[[_Block, DeliveredRecords], pa.Array]] = MappingProxyType({
    "topic": _topics,
    "partition": _partitions,
    "offset": lambda block, _: pa.array(block.offsets()),
    "timestamp": lambda block, _: block.timestamps(),
    "timestampType": lambda block, _: block.timestamp_types(),
    "key": lambda block, _: block.keys(),
    "value": lambda block, _: block.values(),
    "headers": lambda block, _: block.headers(),
    "delivery_count": _delivery_counts,
})  # fmt: skip
