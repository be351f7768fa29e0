"""Chooses the partition of a record by its key, as the clients of Kafka do.

The hash of keys is compiled code of the package murmurhash2. An interpreter or processor for which that has no wheel
hashes keys in Python, which takes six to forty times as long.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import Final

try:
    import murmurhash2
except ImportError:  # there is no wheel for this interpreter or processor
    _compiled: Callable[[bytes, int], int] | None = None
else:
    _compiled = murmurhash2.murmurhash2

__all__ = ["murmur2", "partition_of"]

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_POSITIVE = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Return the Murmur2 hash with Kafka's seed, from 0 to 2³² - 1."""
    try:
        return _hash(data, _SEED)
    except TypeError:
        # The compiled code takes bytes alone, and a serialiser may have returned a bytearray.
        return _hash(memoryview(data).tobytes(), _SEED)


def _in_python(data: bytes, seed: int) -> int:
    _tell()
    size = len(data)
    # Utils.murmur2 in Kafka, as the partitioners of all its clients use it: words of four bytes, and what is left.
    hashed = seed ^ size
    for each in struct.unpack_from(f"<{size // 4}I", data):
        word = each * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        hashed = hashed * _MULTIPLIER & _MASK ^ word
    if left := size % 4:
        hashed = (hashed ^ int.from_bytes(data[-left:], "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 15


@cache
def _tell() -> None:
    """Log once that keys are hashed slowly."""
    # A topology is built without logging, and nothing is hashed then.
    import logging  # noqa: PLC0415

    logging.getLogger(__name__).info(
        "Keys are hashed in Python, as the package murmurhash2 is not installed. pip install murmurhash2 makes "
        "applications faster."
    )


_hash: Final = _compiled or _in_python


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a record with this key, by the default partitioner.

    A record without a key may go to any partition, so do not ask about it.

    Args:
        key: The serialised key.
        partitions: The topic's number of partitions.
    """
    # BuiltInPartitioner.partitionForKey in Kafka: the sign bit is cleared, and not the sign changed, so that negative
    # hashes fall elsewhere than their positive counterparts.
    return (murmur2(key) & _POSITIVE) % partitions if partitions > 1 else 0
