"""Chooses the partition of a record by its key, as the clients of Kafka do."""

__all__ = ["murmur2", "partition_of"]

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_POSITIVE = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Return the Murmur2 hash with Kafka's seed, from 0 to 2³² - 1."""
    size = len(data)
    whole = size - size % 4
    # Utils.murmur2 in Kafka, as the partitioners of all its clients use it.
    hashed = _SEED ^ size
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        hashed = hashed * _MULTIPLIER & _MASK ^ word
    if size != whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 15


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
