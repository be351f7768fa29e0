"""The 128-bit Murmur3 hash (x64 variant), by which foreign-key joins tell versions of a row from each other."""

__all__ = ["murmur3_128"]

# Murmur3.DEFAULT_SEED in Kafka. Members in both languages have to compute the same hash, because one compares what
# another has sent.
KAFKA_SEED = 104729

_MASK = (1 << 64) - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


def murmur3_128(data: bytes, seed: int = KAFKA_SEED) -> bytes:
    """Return the hash as 16 bytes: its two halves, each big-endian, as Kafka Streams writes them."""
    first = second = seed
    size = len(data)
    whole = size - size % 16
    for start in range(0, whole, 16):
        first ^= _mixed_first(int.from_bytes(data[start : start + 8], "little"))
        first = ((_rotated(first, 27) + second) * 5 + 0x52DCE729) & _MASK
        second ^= _mixed_second(int.from_bytes(data[start + 8 : start + 16], "little"))
        second = ((_rotated(second, 31) + first) * 5 + 0x38495AB5) & _MASK
    first ^= _mixed_first(int.from_bytes(data[whole : whole + 8], "little")) ^ size
    second ^= _mixed_second(int.from_bytes(data[whole + 8 :], "little")) ^ size
    first, second = _summed(first, second)
    first, second = _summed(_avalanched(first), _avalanched(second))
    return first.to_bytes(8, "big") + second.to_bytes(8, "big")


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _MASK


def _mixed_first(word: int) -> int:
    return _rotated(word * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_second(word: int) -> int:
    return _rotated(word * _C2 & _MASK, 33) * _C1 & _MASK


def _summed(first: int, second: int) -> tuple[int, int]:
    first = (first + second) & _MASK
    return first, (second + first) & _MASK


def _avalanched(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33
