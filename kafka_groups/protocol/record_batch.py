"""Record batches, format v2: read their headers, check them, and decode their records with a compiled codec.

A blob of records (what Produce, Fetch and ShareFetch carry) is a row of batches. `iter_batches` walks over it
and copies nothing; `RecordBatch.records` decodes one batch into aiokafka's compiled record objects. Whatever is
wrong with the bytes becomes a `CorruptRecordError` here, and here only.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

import crc32c as accelerated
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.record._crecords import DefaultRecordBatch

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol.compression import MAX_DECOMPRESSED_BYTES, Compression, decompress
from kafka_groups.types import Header

__all__ = [
    "FOREIGN_ERRORS",
    "HEADER_BYTES",
    "MAGIC",
    "MAGIC_AT",
    "NO_PRODUCER_ID",
    "BatchHeader",
    "Record",
    "RecordBatch",
    "crc32c",
    "iter_batches",
    "parse_header",
    "rewrite",
    "with_create_time",
    "with_log_append_time",
]

Buffer = bytes | bytearray | memoryview

HEADER_BYTES = 61
NO_PRODUCER_ID = -1
MAGIC = 2
"""The number of this record format."""
MAGIC_AT = 16
"""Where a batch says its format; older formats have it in the same place."""
_LOG_OVERHEAD_BYTES = 12  # base offset and length, which the length does not count
_HEADER = struct.Struct(">qiibIhiqqqhii")
_START = struct.Struct(">qii")
_LENGTH = struct.Struct(">i")
_BASE_OFFSET = struct.Struct(">q")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_LENGTH_AT, _LEADER_EPOCH_AT, _CRC_AT, _ATTRIBUTES_AT, _MAX_TIMESTAMP_AT = 8, 12, 17, 21, 35
_COMPRESSION_MASK = 0x07
_LOG_APPEND_TIME_BIT = 0x08
_TRANSACTIONAL_BIT = 0x10
_CONTROL_BIT = 0x20

# The compiled codec compares positions with the end of the buffer only before a variable-length integer, which
# takes up to ten bytes, and a header's key and value are two of them. So it may look this far beyond the end.
_PADDING = bytes(64)

FOREIGN_ERRORS = (CorruptRecordException, UnsupportedCodecError, UnicodeDecodeError, OverflowError, MemoryError)
"""What the compiled codec raises over malformed records; `RecordBatch.corrupt` turns one into ours."""


class Record(Protocol):
    """One record, decoded; the objects are aiokafka's compiled ones."""

    @property
    def offset(self) -> int:
        """Its offset in the partition."""
        ...

    @property
    def timestamp(self) -> int | None:
        """Milliseconds since the epoch; None when the producer gave none."""
        ...

    @property
    def timestamp_type(self) -> int | None:
        """0 when the producer set the timestamp (CreateTime), 1 when the broker did (LogAppendTime)."""
        ...

    @property
    def key(self) -> bytes | None:
        """The key, or None."""
        ...

    @property
    def value(self) -> bytes | None:
        """The value, or None (a tombstone)."""
        ...

    @property
    def headers(self) -> list[Header]:
        """The headers in the producer's order; a key may come twice."""
        ...


class BatchHeader(NamedTuple):
    """The header of a batch, as it is on the wire.

    A tuple and no attrs class, as one is made for every batch, and many producers send batches of one record.
    """

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    first_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """The size of the whole batch."""
        return self.length + _LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        """The last offset that the batch covers; compaction may have taken the record itself away."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record; after 2^31 - 1 comes 0. -1 without an idempotent producer."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def is_dense(self) -> bool:
        """Whether every offset of the batch has a record; compaction leaves gaps."""
        return self.record_count == self.last_offset_delta + 1

    @property
    def is_control(self) -> bool:
        """Whether the records are transaction markers, which no application sees."""
        return bool(self.attributes & _CONTROL_BIT)

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & _TRANSACTIONAL_BIT)

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker set the timestamps; they all are `max_timestamp_ms` then."""
        return bool(self.attributes & _LOG_APPEND_TIME_BIT)

    @property
    def compression(self) -> Compression:
        """How the records are compressed.

        Raises:
            CorruptRecordError: The number is none that Kafka defines.
        """
        number = self.attributes & _COMPRESSION_MASK
        if number > Compression.ZSTD:
            raise CorruptRecordError(f"compression {number} of the batch at offset {self.base_offset} is unknown")
        return Compression(number)


class RecordBatch(NamedTuple):
    """One batch within a blob of records.

    Attributes:
        header: Its header.
        data: All of its bytes, header included; a view, so it holds the whole blob in memory.
    """

    header: BatchHeader
    data: memoryview

    def check_crc(self) -> None:
        """Compares the checksum in the header with that of the bytes.

        Raises:
            CorruptRecordError: They differ.
        """
        if crc32c(self.data[_ATTRIBUTES_AT:]) != self.header.crc:
            raise self.corrupt("the checksum differs")

    def records(self, *, check_crc: bool = False) -> Iterator[Record]:
        """The records, decoded one by one while the caller iterates.

        Raises:
            CorruptRecordError: The checksum differs, or the bytes are no records; also while iterating.
        """
        if check_crc:
            self.check_crc()
        try:
            yield from self.compiled()
        except FOREIGN_ERRORS as error:
            raise self.corrupt(error) from error

    def compiled(self, *, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
        """As `records`, for loops that count each nanosecond: iterating may also raise `FOREIGN_ERRORS`.

        Decompresses at once, to at most `max_bytes`.

        Raises:
            CorruptRecordError: The records cannot be decompressed, or the header contradicts itself.
        """
        header = self.header
        if header.record_count < 0:
            raise self.corrupt(f"it announces {header.record_count} records")
        size = len(self.data)
        if header.attributes & _COMPRESSION_MASK:
            records = self.payload(max_bytes=max_bytes)
            size = HEADER_BYTES + len(records)
            padded = b"".join((self._uncompressed_header(), records, _PADDING))
        else:
            padded = b"".join((self.data, _PADDING))
        buffer = cast("bytes", memoryview(padded)[:size])  # any buffer will do; aiokafka declares bytes
        batch: Iterator[Record] = iter(DefaultRecordBatch(buffer))
        return batch

    def payload(self, *, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Buffer:
        """The bytes of the records, decompressed to at most `max_bytes`.

        Raises:
            CorruptRecordError: They cannot be decompressed.
        """
        records = self.data[HEADER_BYTES:]
        if not self.header.attributes & _COMPRESSION_MASK:
            return records
        return decompress(self.header.compression, records, max_bytes=max_bytes)

    def corrupt(self, cause: object) -> CorruptRecordError:
        """The error that says what is wrong with this batch."""
        return CorruptRecordError(f"the batch of {len(self.data)} bytes at offset {self.header.base_offset}: {cause}")

    def _uncompressed_header(self) -> bytes:
        return _HEADER.pack(*self.header._replace(attributes=self.header.attributes & ~_COMPRESSION_MASK))


def parse_header(data: Buffer, start: int = 0) -> BatchHeader:
    """The header of the batch that begins at `start`.

    Raises:
        CorruptRecordError: The bytes are too few, of another format (magic 0 and 1 are no batches), or the length
            is shorter than a header.
    """
    if len(data) - start < HEADER_BYTES:
        raise CorruptRecordError(f"a batch has a header of {HEADER_BYTES} bytes, {len(data) - start} are there")
    header = BatchHeader._make(_HEADER.unpack_from(data, start))
    if header.magic != MAGIC:
        raise CorruptRecordError(f"record format {header.magic} is not supported, only {MAGIC} is")
    if header.length < HEADER_BYTES - _LOG_OVERHEAD_BYTES:
        raise CorruptRecordError(f"a batch announces a length of {header.length}, less than its header has")
    return header


def iter_batches(records: Buffer | None) -> Iterator[RecordBatch]:
    """The batches of a blob of records, in order; one that is cut off at the end is left out, as clients do.

    Raises:
        CorruptRecordError: A batch is of another format, or its length is impossible; after those before it.
    """
    if not records:
        return
    view = memoryview(records)
    end = len(view)
    start = 0
    while end - start > MAGIC_AT:
        length: int = _LENGTH.unpack_from(view, start + _LENGTH_AT)[0]
        after = start + _LOG_OVERHEAD_BYTES + length
        if after > end:
            return
        yield RecordBatch(parse_header(view, start), view[start:after])
        start = after


def crc32c(data: Buffer) -> int:
    """The CRC-32C (Castagnoli) of the bytes, by the processor's own instruction where it has one.

    The interpreter's lock is kept: giving it back takes longer than the checksum of a batch.
    """
    return accelerated.crc32c(data, gil_release_mode=0)


def rewrite(batch: bytearray, *, base_offset: int, leader_epoch: int) -> None:
    """Puts the offset and epoch that the leader assigned into a batch; its checksum covers neither."""
    _BASE_OFFSET.pack_into(batch, 0, base_offset)
    _LENGTH.pack_into(batch, _LEADER_EPOCH_AT, leader_epoch)


def with_log_append_time(batch: bytearray, wall_ms: int) -> None:
    """Marks a batch with the time of the append (`message.timestamp.type=LogAppendTime`) and renews its checksum."""
    attributes: int = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
    _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, attributes | _LOG_APPEND_TIME_BIT)
    _BASE_OFFSET.pack_into(batch, _MAX_TIMESTAMP_AT, wall_ms)
    _renew_crc(batch)


def with_create_time(batch: bytearray) -> None:
    """Marks a batch as one whose records have the producer's timestamps, and renews its checksum."""
    attributes: int = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
    _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, attributes & ~_LOG_APPEND_TIME_BIT)
    _renew_crc(batch)


def _renew_crc(batch: bytearray) -> None:
    _CRC.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[_ATTRIBUTES_AT:]))
