"""Records of a share group as Arrow tables, straight from the batches of the log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.delivery.acquired import AcquiredRecords
from kafka_groups.share.delivery.columns import FIELDS, RecordColumns
from kafka_groups.share.delivery.records import AnyRecords
from kafka_groups.spark.schema import HEADER_TYPE, RECORD_SCHEMA, TIMESTAMP_TYPE

__all__ = ["to_table"]

_MAX_TIMESTAMP_MS: Final = (2**63 - 1) // 1000
"""What fits into Arrow's microseconds, some 292,000 years."""

_NO_HEADERS: Final = pa.array([], HEADER_TYPE.value_type)


def to_table(records: AnyRecords, columns: Sequence[str] | None = None) -> pa.Table:
    """The records of a poll as a table, one row for each record, in the order of iterating.

    Keys and values are the bytes on the wire, whatever deserialisers the consumer has. A batch of the log that turns
    out to be unreadable has no row; it is rejected, and the consumer's next poll raises the error. A timestamp beyond
    what microseconds can say is null, as one that the producer did not give.

    Args:
        records: What a poll returned.
        columns: Names of the columns, in the order wanted; None for all of `RECORD_SCHEMA`. What is left out is not
            read.

    Returns:
        A table with the types of `RECORD_SCHEMA`, in chunks of some thousand rows.

    Raises:
        ConfigurationError: A column is unknown or named twice.
    """
    schema = _schema_of(columns)
    wanted = FIELDS.intersection(schema.names)
    blocks = [
        pa.Table.from_arrays([_BUILDERS[name](block, delivery) for name in schema.names], schema=schema)
        for delivery in records.deliveries
        for block in delivery.columns(wanted)
    ]
    return pa.concat_tables(blocks) if blocks else schema.empty_table()


def _schema_of(columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return RECORD_SCHEMA
    unknown = [name for name in columns if name not in _BUILDERS]
    if isinstance(columns, str) or unknown or len(set(columns)) < len(columns):
        raise ConfigurationError(f"columns={columns!r}: give names out of {', '.join(RECORD_SCHEMA.names)}, each once")
    return pa.schema([RECORD_SCHEMA.field(name) for name in columns])


def _topics(block: RecordColumns, delivery: AcquiredRecords) -> Any:
    return pa.repeat(pa.scalar(delivery.topic, pa.string()), block.size)


def _partitions(block: RecordColumns, delivery: AcquiredRecords) -> Any:
    return pa.repeat(pa.scalar(delivery.partition, pa.int32()), block.size)


def _offsets(block: RecordColumns, _: AcquiredRecords) -> Any:
    return pa.array(_offsets_of(block))


def _timestamps(block: RecordColumns, _: AcquiredRecords) -> Any:
    try:
        milliseconds = np.fromiter(block.timestamps_ms, np.int64, block.size)
    except TypeError:  # there are records without one
        return _timestamps_or_null(block)
    if milliseconds.max() > _MAX_TIMESTAMP_MS or milliseconds.min() < -_MAX_TIMESTAMP_MS:
        return _timestamps_or_null(block)
    return pa.Array.from_buffers(TIMESTAMP_TYPE, block.size, [None, pa.py_buffer(milliseconds * 1000)])


def _timestamps_or_null(block: RecordColumns) -> Any:
    return pa.array([_microseconds(timestamp_ms) for timestamp_ms in block.timestamps_ms], TIMESTAMP_TYPE)


def _microseconds(timestamp_ms: int | None) -> int | None:
    return None if timestamp_ms is None or abs(timestamp_ms) > _MAX_TIMESTAMP_MS else timestamp_ms * 1000


def _keys(block: RecordColumns, _: AcquiredRecords) -> Any:
    return pa.array(block.keys, pa.binary())


def _values(block: RecordColumns, _: AcquiredRecords) -> Any:
    return pa.array(block.values, pa.binary())


def _headers(block: RecordColumns, _: AcquiredRecords) -> Any:
    ends = np.zeros(block.size + 1, np.int32)
    if not block.headers:
        return pa.Array.from_buffers(HEADER_TYPE, block.size, [None, pa.py_buffer(ends)], children=[_NO_HEADERS])
    np.cumsum(np.bincount(block.header_rows, minlength=block.size), out=ends[1:])
    keys = pa.array([key for key, _ in block.headers], pa.string())
    values = pa.array([value for _, value in block.headers], pa.binary())
    structs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER_TYPE.value_type))
    return pa.ListArray.from_arrays(pa.array(ends), structs, type=HEADER_TYPE)


def _delivery_counts(block: RecordColumns, delivery: AcquiredRecords) -> Any:
    ranges = delivery.ranges
    counts = np.array([acquired.delivery_count for acquired in ranges], np.int16)
    if len(ranges) == 1:
        return pa.repeat(pa.scalar(ranges[0].delivery_count, pa.int16()), block.size)
    firsts = np.array([acquired.first_offset for acquired in ranges], np.int64)
    return pa.array(counts[np.searchsorted(firsts, _offsets_of(block), side="right") - 1])


def _offsets_of(block: RecordColumns) -> "np.ndarray[Any, np.dtype[np.int64]]":
    return np.concatenate(list(_pieces(block))) if block.offsets else np.empty(0, np.int64)


def _pieces(block: RecordColumns) -> Iterator["np.ndarray[Any, np.dtype[np.int64]]"]:
    for piece in block.offsets:
        if isinstance(piece, range):
            yield np.arange(piece.start, piece.stop, dtype=np.int64)
        else:
            yield np.fromiter(piece, np.int64, len(piece))


_BUILDERS: Mapping[str, Callable[[RecordColumns, AcquiredRecords], Any]] = MappingProxyType({
    "topic": _topics,
    "partition": _partitions,
    "offset": _offsets,
    "timestamp": _timestamps,
    "key": _keys,
    "value": _values,
    "headers": _headers,
    "delivery_count": _delivery_counts,
})  # fmt: skip
