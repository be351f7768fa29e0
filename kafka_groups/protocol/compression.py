"""Compression of record batches: Kafka's five codecs, each with a limit on the decompressed size.

A batch of a few bytes can announce gigabytes. Memory is therefore never allocated by an announced size, and a batch
that expands beyond the limit raises an error.
"""

import enum
import struct
import zlib
from collections.abc import Callable, Mapping

import cramjam

from kafka_groups.errors import CorruptRecordError

__all__ = ["MAX_DECOMPRESSED_BYTES", "Buffer", "Compression", "compress", "decompress"]

Buffer = bytes | bytearray | memoryview

MAX_DECOMPRESSED_BYTES = 128 * 1024 * 1024
"""Maximum decompressed size of a batch: more than the largest request that brokers accept by default (100 MiB)."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16  # the magic, a version, and the oldest compatible version
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024  # as Java's SnappyOutputStream by default
_BLOCK_LENGTH = struct.Struct(">i")
_GZIP_WINDOW_BITS = 31
_GZIP_LEVEL, _LZ4_LEVEL, _ZSTD_LEVEL = 6, 1, 3
_FIRST_GUESS_BYTES = 16 * 1024
_GROWTH = 8


class Compression(enum.IntEnum):
    """The compression of a batch: the lowest three bits of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(compression: Compression, data: Buffer, level: int | None = None) -> Buffer:
    """Compress data in the form that Java's clients write.

    Args:
        compression: The codec.
        data: The data.
        level: The level of gzip, lz4 or zstd, as their libraries have them. None: the default of Kafka's clients.
    """
    return data if compression is Compression.NONE else _COMPRESS[compression](data, level)


def _to_gzip(data: Buffer, level: int | None) -> Buffer:
    compressor = zlib.compressobj(_GZIP_LEVEL if level is None else level, wbits=_GZIP_WINDOW_BITS)
    return compressor.compress(data) + compressor.flush()


def _to_snappy(data: Buffer, _level: int | None) -> Buffer:
    # Blocks instead of raw snappy: all clients read them, and those before Kafka 0.8.2 nothing else.
    parts: list[Buffer] = [_XERIAL_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = memoryview(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _to_lz4(data: Buffer, level: int | None) -> Buffer:
    # Kafka's brokers refuse frames with linked blocks (KafkaLZ4BlockInputStream). Without a level, Java uses the fast
    # compressor, although its configuration calls that level 9 (KafkaLZ4BlockOutputStream).
    compressor = cramjam.lz4.Compressor(
        level=_LZ4_LEVEL if level is None else level, content_checksum=False, block_linked=False
    )
    compressor.compress(bytes(data))  # takes nothing else
    return memoryview(compressor.finish())


def _to_zstd(data: Buffer, level: int | None) -> Buffer:
    return memoryview(cramjam.zstd.compress(data, level=_ZSTD_LEVEL if level is None else level))


def decompress(compression: Compression, data: Buffer, *, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Buffer:
    """Decompress data.

    Raises:
        CorruptRecordError: The data is not valid for the codec, or expands to more than `max_bytes`.
    """
    if compression is Compression.NONE:
        return data
    try:
        return _DECOMPRESS[compression](data, max_bytes)
    except (cramjam.DecompressionError, zlib.error, struct.error) as error:
        raise CorruptRecordError(f"Cannot decompress the records as {compression.name}: {error}") from error


def _too_large(max_bytes: int) -> CorruptRecordError:
    return CorruptRecordError(f"The records expand to more than {max_bytes} bytes.")


def _gzip(data: Buffer, max_bytes: int) -> Buffer:
    members: list[bytes] = []
    left = max_bytes
    rest: Buffer = data
    while rest:
        member = zlib.decompressobj(_GZIP_WINDOW_BITS)
        # One byte more than allowed, to distinguish a member of exactly the allowed size from a larger one.
        members.append(member.decompress(rest, left + 1))
        left -= len(members[-1])
        if left < 0:
            raise _too_large(max_bytes)
        if not member.eof:
            raise CorruptRecordError("Cannot decompress the records as GZIP: the stream is truncated.")
        rest = member.unused_data
    return members[0] if len(members) == 1 else b"".join(members)


def _snappy(data: Buffer, max_bytes: int) -> Buffer:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _snappy_block(data, max_bytes)
    blocks: list[Buffer] = []
    left = max_bytes
    position = _XERIAL_HEADER_BYTES
    while position < len(data):
        length: int = _BLOCK_LENGTH.unpack_from(data, position)[0]
        start = position + _BLOCK_LENGTH.size
        position = start + length
        if length < 0 or position > len(data):
            raise CorruptRecordError(f"A snappy block announces {length} bytes, but only {len(data) - start} are left.")
        blocks.append(_snappy_block(data[start:position], left))
        left -= len(blocks[-1])
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _snappy_block(block: Buffer, max_bytes: int) -> Buffer:
    if cramjam.snappy.decompress_raw_len(block) > max_bytes:
        raise _too_large(max_bytes)
    return memoryview(cramjam.snappy.decompress_raw(block))


def _growing(decompress_into: Callable[[Buffer, bytearray], int]) -> Callable[[Buffer, int], Buffer]:
    def run(data: Buffer, max_bytes: int) -> Buffer:
        size = min(max(_FIRST_GUESS_BYTES, _GROWTH * len(data)), max_bytes)
        while True:
            output = bytearray(size)
            try:
                return memoryview(output)[: decompress_into(data, output)]
            except cramjam.DecompressionError as error:
                if "whole buffer" not in str(error):
                    raise
                if size == max_bytes:
                    raise _too_large(max_bytes) from error
            size = min(size * _GROWTH, max_bytes)

    return run


_DECOMPRESS: Mapping[Compression, Callable[[Buffer, int], Buffer]] = {
    Compression.GZIP: _gzip,
    Compression.SNAPPY: _snappy,
    Compression.LZ4: _growing(cramjam.lz4.decompress_into),
    Compression.ZSTD: _growing(cramjam.zstd.decompress_into),
}

_COMPRESS: Mapping[Compression, Callable[[Buffer, int | None], Buffer]] = {
    Compression.GZIP: _to_gzip,
    Compression.SNAPPY: _to_snappy,
    Compression.LZ4: _to_lz4,
    Compression.ZSTD: _to_zstd,
}
