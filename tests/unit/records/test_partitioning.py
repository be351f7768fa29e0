"""Partitions of keys: the hash of Java's clients."""

import pytest

from kafka_groups.records.partitioning import murmur2, partition_of

SIGN = 1 << 32


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_those_of_java(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected % SIGN


@pytest.mark.parametrize(("key", "partition"), [(b"21", 0), (b"foobar", 2), (b"abc", 3)])
def test_a_key_has_its_partition_whatever_the_sign_of_its_hash(key: bytes, partition: int) -> None:
    assert partition_of(key, 4) == (murmur2(key) & 0x7FFFFFFF) % 4 == partition
    assert partition_of(key, 1) == 0
