"""Parse a block of records of equal size into arrays, all at once.

Reading records one by one takes about 300 ns per record. If neighbouring records have the same size (numbers, codes,
fixed layouts), their positions are known, and the rest is arithmetic on arrays. This module does not handle unusual
batches (different sizes, headers, missing offsets, invalid bytes). It returns None, and the caller reads record by
record, which also finds out what is wrong.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from attrs import frozen

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol.record_batch import RecordBatch

__all__ = ["FEWEST_RECORDS", "Integers", "ParsedBlock", "parse"]

FEWEST_RECORDS: Final = 200
"""Fewer than this take longer together than one by one."""

Integers = Any
"""A numpy array of 64-bit integers."""

_PADDING: Final = bytes(64)
"""Padding after the last record, because a truncated number may be read this far before its end is noticed."""
_MAX_BLOCK_BYTES: Final = 1 << 30
_LONGEST_VARINT: Final = 9
_FEWEST_OF_A_SIZE: Final = 32
"""The shortest average run of records of equal size that is parsed at once; shorter ones are read one by one."""
_MOST_RUNS: Final = 3
_THREE_BYTES_FROM: Final = 1 << 13
_END_OF_RECORD: Final = 1  # the number of headers, which is 0


@frozen(eq=False)
class ParsedBlock:
    """Records of batches that have a record for each offset and no headers.

    Attributes:
        offsets: The offset of each record.
        timestamps_ms: The timestamp of each record; -1 if the producer did not set one.
        payloads: Keys and values as an array of bytes: at position 4n the key of record n, at 4n + 2 its value.
        has_key: Whether each record has a key; None if all have one.
        has_value: Whether each record has a value; None if all have one.
    """

    offsets: Integers
    timestamps_ms: Integers
    payloads: pa.Array
    has_key: Any
    has_value: Any

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.offsets)

    def keys(self) -> pa.Array:
        """Return the keys; null for a record without one."""
        return self._taken(0, self.has_key)

    def values(self) -> pa.Array:
        """Return the values; null for a record without one."""
        return self._taken(2, self.has_value)

    def _taken(self, first: int, there: Any) -> pa.Array:
        positions = np.arange(first, 4 * self.size, 4, dtype=np.int32)
        return self.payloads.take(pa.array(positions, mask=None if there is None else ~there))


class _UnusualError(Exception):
    """The records must be read one by one."""


def parse(batches: Sequence[RecordBatch]) -> ParsedBlock | None:
    """Parse the records of batches that have a record for each offset.

    Returns:
        None if a batch is unusual or unreadable; otherwise the same as reading record by record.
    """
    try:
        return _parsed(batches)
    except (_UnusualError, CorruptRecordError):
        return None


def _parsed(batches: Sequence[RecordBatch]) -> ParsedBlock:
    payloads = [batch.payload() for batch in batches]
    data = b"".join((*payloads, _PADDING))
    _require(len(data) < _MAX_BLOCK_BYTES)
    array = np.frombuffer(data, np.uint8)
    starts = _starts_of_batches(data, array, batches, [len(payload) for payload in payloads])
    return _block(data, array, batches, starts)


def _require(condition: object) -> None:
    if not condition:
        raise _UnusualError


# ---------------------------------------------------------------------------------- where records begin


def _starts_of_batches(data: bytes, array: Any, batches: Sequence[RecordBatch], sizes_bytes: Sequence[int]) -> Integers:
    found, begin = [], 0
    for batch, size_bytes in zip(batches, sizes_bytes, strict=True):
        count = batch.header.record_count
        _require(0 < count <= size_bytes)
        starts = np.empty(count, np.int64)
        _fill_starts(starts, data, array, begin, begin + size_bytes)
        found.append(starts)
        begin += size_bytes
    return np.concatenate(found)


def _fill_starts(starts: Integers, data: bytes, array: Any, begin: int, end: int) -> None:
    """Write where each record begins; they must fill the bytes from `begin` to before `end`."""
    position, done, runs = begin, 0, 0
    while done < len(starts):
        _require(position < end and runs <= _MOST_RUNS + done // _FEWEST_OF_A_SIZE)
        found, position = _of_one_size(starts[done:], data, array, position, end)
        _require(found)
        done, runs = done + found, runs + 1
    _require(position == end)


def _of_one_size(starts: Integers, data: bytes, array: Any, position: int, end: int) -> tuple[int, int]:
    """Return how many records begin with the same bytes as the first, which give its size, and where they end."""
    size = _next_start(data, position) - position
    count = min(len(starts), (end - position) // size)
    for at in range(position, position + 3):
        differing = np.flatnonzero(array[at : at + count * size : size] != data[at])
        count = int(differing[0]) if len(differing) else count
        if data[at] < 0x80:
            break
    starts[:count] = np.arange(position, position + count * size, size)
    return count, position + count * size


def _next_start(data: bytes, position: int) -> int:
    """Return the start of the record after the one at a position."""
    first = data[position]
    if first & 1:
        raise _UnusualError  # a negative size
    if first < 0x80:
        return position + 1 + (first >> 1)
    second = data[position + 1]
    if second < 0x80:
        return position + 2 + ((first & 0x7F | second << 7) >> 1)
    third = data[position + 2]
    if 0 < third < 0x80:
        return position + 3 + ((first & 0x7F | (second & 0x7F) << 7 | third << 14) >> 1)
    raise _UnusualError  # more than a megabyte, or not in the fewest bytes


# ------------------------------------------------------------------------------------ what records are


def _block(data: bytes, array: Any, batches: Sequence[RecordBatch], starts: Integers) -> ParsedBlock:
    ends = np.append(starts[1:], len(data) - len(_PADDING))
    at = _after_sizes(array, starts, ends)
    _require(not array[at].any())  # no attributes, which no record has yet
    time_deltas, at = _varints(array, at + 1)
    offset_deltas, at = _varints(array, at)
    key_sizes, key_starts = _varints(array, at)
    key_ends = key_starts + np.maximum(key_sizes, 0)  # never beyond the data, by what is required next
    _require((key_ends < ends).all() and (key_sizes >= -1).all())
    value_sizes, value_starts = _varints(array, key_ends)
    value_ends = value_starts + np.maximum(value_sizes, 0)
    _require((value_ends + _END_OF_RECORD == ends).all() and (value_sizes >= -1).all())
    _require(not array[value_ends].any())  # no headers
    bounds = np.empty((len(starts), 4), np.int32)
    for column, positions in enumerate((key_starts, key_ends, value_starts, value_ends)):
        bounds[:, column] = positions
    return _placed(batches, offset_deltas, time_deltas, _Payloads(data, bounds, key_sizes, value_sizes))


def _after_sizes(array: Any, starts: Integers, ends: Integers) -> Integers:
    """Return the positions after the sizes that records begin with."""
    if (ends - starts).max() < _THREE_BYTES_FROM:
        return starts + 1 + (array[starts] >> 7)
    return _varints(array, starts)[1]


@frozen(eq=False)
class _Payloads:
    data: bytes
    bounds: Any
    key_sizes: Integers
    value_sizes: Integers

    def array(self) -> pa.Array:
        buffers = [None, pa.py_buffer(self.bounds), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.binary(), self.bounds.size - 1, buffers)


def _placed(
    batches: Sequence[RecordBatch], offset_deltas: Integers, time_deltas: Integers, payloads: _Payloads
) -> ParsedBlock:
    headers = [batch.header for batch in batches]
    counts = np.array([header.record_count for header in headers])
    firsts = np.cumsum(counts) - counts
    _require((offset_deltas == np.arange(len(offset_deltas)) - np.repeat(firsts, counts)).all())
    times = np.repeat(np.array([header.first_timestamp_ms for header in headers], np.int64), counts) + time_deltas
    appended = np.array([header.is_log_append_time for header in headers])
    if appended.any():
        stamped = np.repeat(np.array([header.max_timestamp_ms for header in headers], np.int64), counts)
        times = np.where(np.repeat(appended, counts), stamped, times)
    return ParsedBlock(
        offsets=np.repeat(np.array([header.base_offset for header in headers], np.int64), counts) + offset_deltas,
        timestamps_ms=times,
        payloads=payloads.array(),
        has_key=_there(payloads.key_sizes),
        has_value=_there(payloads.value_sizes),
    )


def _there(sizes: Integers) -> Any:
    there = sizes >= 0
    return None if there.all() else there


def _varints(array: Any, at: Integers) -> tuple[Integers, Integers]:
    """Return the signed integers of variable length at these positions, and the positions after them."""
    read, after = array[at], at + 1
    if read[0] < 0x80 and (read == read[0]).all():  # as with keys of one size
        value = int(read[0])
        return np.broadcast_to(np.int64((value >> 1) ^ -(value & 1)), at.shape), after
    values, more = (read & 0x7F).astype(np.int64), read >= 0x80
    for shift in range(7, 7 * _LONGEST_VARINT, 7):
        if not more.any():
            break
        read = array[after]
        values |= ((read & 0x7F) * more).astype(np.int64) << shift
        after += more
        more &= read >= 0x80
    _require(not more.any())
    return (values >> 1) ^ -(values & 1), after
