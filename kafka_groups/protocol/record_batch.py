"""Record batches in format v2: read and check their headers, and decode their records with a compiled codec.

The records in Produce, Fetch and ShareFetch are a sequence of batches. `iter_batches` iterates over it without copying.
`RecordBatch.records` decodes one batch into aiokafka's compiled record objects. This module, and only this module,
raises `CorruptRecordError` for invalid bytes.
"""

import functools
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol, cast

from kafka_groups.errors import CorruptRecordError
from kafka_groups.errors.texts import counted
from kafka_groups.protocol.compression import MAX_DECOMPRESSED_BYTES, Buffer, Compression, decompress
from kafka_groups.types import Header

__all__ = [
    "HEADER_BYTES",
    "MAGIC",
    "MAGIC_AT",
    "NO_PRODUCER_ID",
    "BatchHeader",
    "DecodedRecord",
    "RecordBatch",
    "crc32c",
    "foreign_errors",
    "header_alone",
    "is_transactional",
    "iter_batches",
    "parse_header",
    "rewrite",
    "with_create_time",
    "with_log_append_time",
]

HEADER_BYTES = 61
NO_PRODUCER_ID = -1
MAGIC = 2
"""The magic number of this record format."""
MAGIC_AT = 16
"""Position of the magic number. It is the same in older formats."""
_LOG_OVERHEAD_BYTES = 12  # base offset and length, which are not included in the length
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

# The compiled codec checks for the end of the buffer only before a variable-length integer, which takes up to ten
# bytes, and a header's key and value have one each. It may therefore read this far beyond the end.
_PADDING = bytes(64)


def is_transactional(records: Buffer | None) -> bool:
    """Return whether the first of some batches says that it belongs to a transaction. Nothing else is looked at."""
    if records is None or len(records) < HEADER_BYTES or records[MAGIC_AT] != MAGIC:
        return False
    return bool(records[_ATTRIBUTES_AT + 1] & _TRANSACTIONAL_BIT)


@functools.cache
def foreign_errors() -> tuple[type[Exception], ...]:
    """Return the errors that the compiled codec raises for malformed records; `RecordBatch.corrupt` translates them."""
    from aiokafka.errors import CorruptRecordException, UnsupportedCodecError  # noqa: PLC0415 - as in `_codec`

    return (CorruptRecordException, UnsupportedCodecError, UnicodeDecodeError, OverflowError, MemoryError)


@functools.cache
def _codec() -> Callable[[bytes], Iterable["DecodedRecord"]]:
    # aiokafka's package loads its whole client, which takes longer than all of ours: not before there are records.
    from aiokafka.record._crecords import DefaultRecordBatch  # noqa: PLC0415

    return DefaultRecordBatch


@functools.cache
def _checksum() -> Callable[[bytes], int]:
    import google_crc32c  # noqa: PLC0415 - as in `_codec`

    if google_crc32c.implementation == "c":
        value: Callable[[bytes], int] = google_crc32c.value
        return value
    # Where it has no wheel, it computes in Python. aiokafka's function is compiled, but does not use the processor's
    # instruction.
    from aiokafka.record._crecords import crc32c_cython  # noqa: PLC0415

    return crc32c_cython


class DecodedRecord(Protocol):
    """A decoded record. The objects are aiokafka's compiled ones."""

    @property
    def offset(self) -> int:
        """Its offset in the partition."""
        ...

    @property
    def timestamp(self) -> int | None:
        """Milliseconds since the epoch, or None if the producer set no timestamp."""
        ...

    @property
    def timestamp_type(self) -> int | None:
        """0 if the producer set the timestamp (CreateTime), 1 if the broker did (LogAppendTime)."""
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
        """The headers in the producer's order. A key may occur more than once."""
        ...


class BatchHeader(NamedTuple):
    """The header of a batch, as on the wire.

    It is a tuple instead of an attrs class for speed: one is created for every batch, and many producers send batches
    of one record.
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
        """The last offset of the batch. Compaction may have removed the record itself."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record. Wraps from 2^31 - 1 to 0. -1 without an idempotent producer."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def is_dense(self) -> bool:
        """True if every offset of the batch has a record. Compaction leaves gaps."""
        return self.record_count == self.last_offset_delta + 1

    @property
    def is_control(self) -> bool:
        """True if the records are transaction markers, which applications don't see."""
        return bool(self.attributes & _CONTROL_BIT)

    @property
    def is_transactional(self) -> bool:
        """True if the batch belongs to a transaction."""
        return bool(self.attributes & _TRANSACTIONAL_BIT)

    @property
    def is_log_append_time(self) -> bool:
        """True if the broker set the timestamps. In that case all of them are `max_timestamp_ms`."""
        return bool(self.attributes & _LOG_APPEND_TIME_BIT)

    @property
    def compression(self) -> Compression:
        """The compression of the records.

        Raises:
            CorruptRecordError: Kafka does not define this compression.
        """
        number = self.attributes & _COMPRESSION_MASK
        if number > Compression.ZSTD:
            raise CorruptRecordError(f"Unknown compression {number} of the batch at offset {self.base_offset}.")
        return Compression(number)


class RecordBatch(NamedTuple):
    """One batch in a sequence of batches.

    Attributes:
        header: Its header.
        data: All of its bytes, including the header. It is a view, which keeps the whole sequence in memory.
    """

    header: BatchHeader
    data: memoryview

    def check_crc(self) -> None:
        """Verify the checksum in the header.

        Raises:
            CorruptRecordError: The checksum does not match.
        """
        if crc32c(self.data[_ATTRIBUTES_AT:]) != self.header.crc:
            raise self.corrupt("the checksum differs")

    def records(self, *, check_crc: bool = False) -> Iterator[DecodedRecord]:
        """Iterate over the records. Each is decoded when the iteration reaches it.

        Raises:
            CorruptRecordError: The checksum does not match, or the bytes are not records. Also raised while iterating.
        """
        if check_crc:
            self.check_crc()
        try:
            yield from self.compiled()
        except foreign_errors() as error:
            raise self.corrupt(error) from error

    def compiled(self, *, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[DecodedRecord]:
        """Like `records`, for performance-critical loops: iterating may also raise `foreign_errors()`.

        Decompresses immediately, to at most `max_bytes`.

        Raises:
            CorruptRecordError: The records cannot be decompressed, or the header is inconsistent.
        """
        header = self.header
        if header.record_count < 0:
            raise self.corrupt(f"it announces {counted(header.record_count, 'record')}")
        size = len(self.data)
        if header.attributes & _COMPRESSION_MASK:
            records = self.payload(max_bytes=max_bytes)
            size = HEADER_BYTES + len(records)
            padded = b"".join((self._uncompressed_header(), records, _PADDING))
        else:
            padded = b"".join((self.data, _PADDING))
        buffer = cast("bytes", memoryview(padded)[:size])  # aiokafka declares bytes, but accepts any buffer
        batch: Iterator[DecodedRecord] = iter(_codec()(buffer))
        return batch

    def payload(self, *, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Buffer:
        """Return the bytes of the records, decompressed to at most `max_bytes`.

        Raises:
            CorruptRecordError: The records cannot be decompressed.
        """
        records = self.data[HEADER_BYTES:]
        if not self.header.attributes & _COMPRESSION_MASK:
            return records
        return decompress(self.header.compression, records, max_bytes=max_bytes)

    def corrupt(self, cause: object) -> CorruptRecordError:
        """Return an error that describes the problem with this batch."""
        return CorruptRecordError(
            f"Corrupt batch of {len(self.data)} bytes at offset {self.header.base_offset}: {cause}"
        )

    def _uncompressed_header(self) -> bytes:
        return _HEADER.pack(*self.header._replace(attributes=self.header.attributes & ~_COMPRESSION_MASK))


def parse_header(data: Buffer, start: int = 0) -> BatchHeader:
    """Decode the header of the batch that starts at `start`.

    Raises:
        CorruptRecordError: There are too few bytes, the format is different (magic 0 and 1 are not batches), or the
            length is shorter than a header.
    """
    if len(data) - start < HEADER_BYTES:
        raise CorruptRecordError(
            f"The header of a batch has {HEADER_BYTES} bytes, but only {len(data) - start} are left."
        )
    header = BatchHeader._make(_HEADER.unpack_from(data, start))
    if header.magic != MAGIC:
        raise CorruptRecordError(f"Unsupported record format {header.magic}: only {MAGIC} is supported.")
    if header.length < HEADER_BYTES - _LOG_OVERHEAD_BYTES:
        raise CorruptRecordError(f"Invalid batch length {header.length}: shorter than the header.")
    return header


def iter_batches(records: Buffer | None) -> Iterator[RecordBatch]:
    """Iterate over the batches. As in other clients, a truncated batch at the end is left out.

    Raises:
        CorruptRecordError: A batch has another format or an impossible length. Earlier batches are returned first.
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
    """Return the CRC-32C (Castagnoli) of the bytes. Uses the processor's instruction if it has one."""
    # The library takes nothing but bytes. The copy costs a third of the checksum, 2 µs for 100 KB.
    return _checksum()(data if isinstance(data, bytes) else bytes(data))


def rewrite(batch: bytearray, *, base_offset: int, leader_epoch: int) -> None:
    """Write the offset and epoch that the leader assigned into a batch. The checksum does not cover them."""
    _BASE_OFFSET.pack_into(batch, 0, base_offset)
    _LENGTH.pack_into(batch, _LEADER_EPOCH_AT, leader_epoch)


def with_log_append_time(batch: bytearray, wall_ms: int) -> None:
    """Set the time of the append on a batch (`message.timestamp.type=LogAppendTime`) and update its checksum."""
    attributes: int = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
    _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, attributes | _LOG_APPEND_TIME_BIT)
    _BASE_OFFSET.pack_into(batch, _MAX_TIMESTAMP_AT, wall_ms)
    _renew_crc(batch)


def with_create_time(batch: bytearray) -> None:
    """Mark a batch as having the producer's timestamps, and update its checksum."""
    attributes: int = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
    _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, attributes & ~_LOG_APPEND_TIME_BIT)
    _renew_crc(batch)


def header_alone(header: BatchHeader) -> bytes:
    """Return a batch without records that keeps the offsets, the timestamp and the producer of another one."""
    alone = header._replace(
        length=HEADER_BYTES - _LOG_OVERHEAD_BYTES,
        attributes=header.attributes & ~_COMPRESSION_MASK,
        first_timestamp_ms=-1,
        record_count=0,
    )
    batch = bytearray(_HEADER.pack(*alone))
    _renew_crc(batch)
    return bytes(batch)


def _renew_crc(batch: bytearray) -> None:
    _CRC.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[_ATTRIBUTES_AT:]))
