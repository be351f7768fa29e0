import gzip
import struct
import zlib

import cramjam
import pytest

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol.compression import Compression, compress, decompress

TEXT = b"a share group is no consumer group " * 500
XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def xerial(data: bytes, block_bytes: int = 4096) -> bytes:
    blocks = (bytes(cramjam.snappy.compress_raw(data[i : i + block_bytes])) for i in range(0, len(data), block_bytes))
    return XERIAL_HEADER + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


COMPRESSED = {
    "gzip": (Compression.GZIP, gzip.compress(TEXT)),
    "gzip of two members": (Compression.GZIP, gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
    "snappy as librdkafka writes it": (Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))),
    "snappy as Java writes it": (Compression.SNAPPY, xerial(TEXT)),
    "lz4": (Compression.LZ4, bytes(cramjam.lz4.compress(TEXT))),
    "zstd": (Compression.ZSTD, bytes(cramjam.zstd.compress(TEXT))),
    "none": (Compression.NONE, TEXT),
}


@pytest.mark.parametrize(("codec", "data"), COMPRESSED.values(), ids=COMPRESSED.keys())
def test_every_codec_gives_back_what_was_compressed(codec: Compression, data: bytes) -> None:
    assert bytes(decompress(codec, data)) == TEXT
    assert bytes(decompress(codec, memoryview(data))) == TEXT


@pytest.mark.parametrize(
    ("codec", "data"),
    [value for name, value in COMPRESSED.items() if name != "none"],
    ids=[name for name in COMPRESSED if name != "none"],
)
def test_no_codec_expands_beyond_the_limit(codec: Compression, data: bytes) -> None:
    assert bytes(decompress(codec, data, max_bytes=len(TEXT))) == TEXT
    with pytest.raises(CorruptRecordError, match="expand to more than"):
        decompress(codec, data, max_bytes=len(TEXT) - 1)


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
@pytest.mark.parametrize(
    "data", [b"\x00\x01\x02", b"\xff" * 100, XERIAL_HEADER + b"\x7f\xff\xff\xff", b"\x82SNAPPY\x00"]
)
def test_bytes_of_another_kind_are_corrupt(codec: Compression, data: bytes) -> None:
    if codec is Compression.SNAPPY and data == b"\x82SNAPPY\x00":
        assert bytes(decompress(codec, data)) == b""  # a stream of no blocks
        return
    with pytest.raises(CorruptRecordError):
        decompress(codec, data)


@pytest.mark.parametrize(("codec", "data"), COMPRESSED.values(), ids=COMPRESSED.keys())
def test_a_truncated_stream_never_gives_the_whole(codec: Compression, data: bytes) -> None:
    if codec is Compression.NONE:
        return
    try:
        shorter = bytes(decompress(codec, data[: len(data) // 2]))
    except CorruptRecordError:
        return
    assert len(shorter) < len(TEXT)


def test_a_bomb_is_stopped_early() -> None:
    bomb = zlib.compressobj(wbits=31)
    data = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(300)) + bomb.flush()
    assert len(data) < 400_000
    with pytest.raises(CorruptRecordError, match="expand to more than"):
        decompress(Compression.GZIP, data)


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("size", [0, 1, 32 * 1024, 100_000])
def test_what_is_compressed_comes_back(codec: Compression, size: int) -> None:
    data = (TEXT * 10)[:size]
    for level in (None, 1, 9):
        assert bytes(decompress(codec, compress(codec, memoryview(data), level))) == data


def test_snappy_has_the_blocks_of_java() -> None:
    assert bytes(compress(Compression.SNAPPY, TEXT)) == xerial(TEXT, 32 * 1024)


def test_the_blocks_of_lz4_are_independent() -> None:
    """Kafka's brokers refuse frames with linked blocks."""
    frame = bytes(compress(Compression.LZ4, TEXT))
    assert frame[4] & 0x20
