"""The bytes of a producer's batches: a compiled builder, compression, and new sequence numbers in place of old ones."""

import functools
import struct
from collections.abc import Callable
from typing import Protocol, cast

from kafka_groups.protocol.compression import Compression, compress
from kafka_groups.protocol.record_batch import HEADER_BYTES, MAGIC, NO_PRODUCER_ID, crc32c
from kafka_groups.types import Header

__all__ = ["AppendedRecord", "CompiledBuilder", "compiled_builder", "compressed", "renumbered"]

_LOG_OVERHEAD_BYTES = 12  # base offset and length, which are not included in the length
_LENGTH_AT, _CRC_AT, _ATTRIBUTES_AT, _PRODUCER_AT = 8, 17, 21, 43
_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_PRODUCER = struct.Struct(">qhi")
_NO_EPOCH, _NO_SEQUENCE = -1, -1


class AppendedRecord(Protocol):
    """A record that a builder has taken."""

    @property
    def size(self) -> int:
        """Its bytes in the batch."""
        ...


class CompiledBuilder(Protocol):
    """A batch that takes records. The objects are aiokafka's compiled ones."""

    def append(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: list[Header]
    ) -> AppendedRecord | None:
        """Add a record. None: the batch would become too large; only its first record may be larger."""
        ...

    def set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Set the producer, and the number of the first record."""
        ...

    def size(self) -> int:
        """Return the bytes of the batch so far."""
        ...

    def size_in_bytes(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: list[Header]
    ) -> int:
        """Return the bytes that a record would add to the batch."""
        ...

    def build(self) -> bytearray:
        """Return the batch, with its checksum. It may be called again."""
        ...


@functools.cache
def _builder_class() -> Callable[..., object]:
    # aiokafka's package loads its whole client, which takes longer than all of ours: not before there are records.
    from aiokafka.record._crecords import DefaultRecordBatchBuilder  # noqa: PLC0415

    return DefaultRecordBatchBuilder


def compiled_builder(max_bytes: int, *, is_transactional: bool) -> CompiledBuilder:
    """Return an empty batch without a producer and without compression.

    Args:
        max_bytes: The most bytes of a batch with several records.
        is_transactional: Whether it belongs to a transaction.
    """
    builder = _builder_class()(
        MAGIC, Compression.NONE, is_transactional, NO_PRODUCER_ID, _NO_EPOCH, _NO_SEQUENCE, max_bytes
    )
    return cast("CompiledBuilder", builder)


def compressed(batch: bytearray, compression: Compression, level: int | None) -> bytearray:
    """Return a plain batch with its records compressed, or the batch itself if it would become larger."""
    if compression is Compression.NONE:
        return batch
    records = compress(compression, memoryview(batch)[HEADER_BYTES:], level)
    if len(records) >= len(batch) - HEADER_BYTES:
        return batch
    smaller = batch[:HEADER_BYTES] + records
    attributes: int = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
    _ATTRIBUTES.pack_into(smaller, _ATTRIBUTES_AT, attributes | compression)
    _LENGTH.pack_into(smaller, _LENGTH_AT, len(smaller) - _LOG_OVERHEAD_BYTES)
    _renew_checksum(smaller)
    return smaller


def renumbered(batch: bytes, producer_id: int, epoch: int, base_sequence: int) -> bytes:
    """Return a batch with another producer and other numbers. Its records stay as they are."""
    changed = bytearray(batch)
    _PRODUCER.pack_into(changed, _PRODUCER_AT, producer_id, epoch, base_sequence)
    _renew_checksum(changed)
    return bytes(changed)


def _renew_checksum(batch: bytearray) -> None:
    _CRC.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[_ATTRIBUTES_AT:]))
