"""The Murmur3 hash, by published vectors and by hashes that Kafka Streams 4.3.1 sent."""

import pytest

from kafka_groups.streams.processors.value_hash import murmur3_128


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "00000000000000000000000000000000"),
        (b"hello", "cbd8a7b341bd9b025b1e906a48ae1d19"),
        (b"The quick brown fox jumps over the lazy dog", "e34bbc7bbc071b6c7a433ca9c49a9347"),
    ],
)
def test_published_vectors(data: bytes, expected: str) -> None:
    assert murmur3_128(data, seed=0).hex() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", b"\x9d'd\xa0\x18\xe3)B\x8c<\xf3\xb05\x93\x85\x18"),
        ("b", b"\x8f\xcd\xdc\xf6\x94Q\xe7\x98\xb0\x8f\x9e\xdd\xfc0\xe0\x05"),
        ("bäüß€", b"\x198\xd4\xbf)\x88\x9e\xeb\xe4/p\x94\xe9(\xa6B"),
        ("bäüß€xxxxxx", b"\xfa\x08\xe9iHN\xbaZ\xde\xe0W\xb7%\xaa\xa5m"),
        ("b" * 16, b"\xaa\x94\x00\xfff5G\xb2wB\xc5\xa80(\x93\x1a"),
        ("b" * 31, b"\x91\xf3XG\xd0\x89<\n /\x16\xb2p\x85a\xb7"),
        ("b" * 32, b"\x98)\x92-enV\xc5\x9dX\x8clk\x02\xbf]"),
        ("déjà vu" * 9, b"\xa8\xe6\xe9\x94\xc39^\xf8\x0b\xac\x8dlc\x8e\xe2\xb4"),
    ],
)
def test_values_are_hashed_as_kafka_streams_hashes_them(text: str, expected: bytes) -> None:
    assert murmur3_128(text.encode()) == expected
