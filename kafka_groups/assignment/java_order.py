"""The order in which Java goes over a hash table.

Kafka's coordinator keeps members, topics and partitions in hash tables. Its uniform assignor goes over them in the
order of the tables, and that order decides which member gets which partition. Kafka Streams keeps copartition groups
and their topics in such tables, and sends them in that order. These functions return the same order:

- A value is in the bucket that its hash code selects. Buckets come in ascending order.
- Values of one bucket come in the order in which they were added.
"""

from collections.abc import Callable, Collection, Iterable
from operator import index
from typing import TypeVar
from uuid import UUID

__all__ = [
    "copied",
    "grown",
    "in_hash_order",
    "in_timeline_order",
    "int_hash",
    "set_hash",
    "string_hash",
    "timeline_slots",
    "uuid_hash",
]

T = TypeVar("T")

_SMALLEST = 16
_WORD = 0xFFFF_FFFF
_LONG = 0xFFFF_FFFF_FFFF_FFFF
_GOLDEN_RATIO = 0x9E37_79B9_7F4A_7C15


def in_hash_order(values: Collection[T], hash_of: Callable[[T], int], buckets: int) -> list[T]:
    """Return values, given in the order in which they were added, in the order of a table with so many buckets."""

    def bucket(value: T) -> int:
        code = hash_of(value)
        # `HashMap.hash` spreads the upper half of the code, and the table masks it.
        return (code ^ code >> 16) & buckets - 1

    return sorted(values, key=bucket)


def in_timeline_order(values: Collection[T], hash_of: Callable[[T], int], slots: int = 0) -> list[T]:
    """Return values, given in the order in which they were added, in the order of Kafka's table with snapshots.

    Its buckets hold more values, and the one that was added last comes first.

    Args:
        values: The values.
        hash_of: Returns the hash code of a value.
        slots: The number of buckets, a power of two. Without it, the values were added one by one to an empty table,
            and none was replaced.
    """
    shift = 65 - max(slots, timeline_slots(len(values))).bit_length()

    def bucket(value: T) -> int:
        code = hash_of(value)
        # A Fibonacci hash of the signed code (`BaseHashTable.findSlot` in Kafka).
        return ((code - (code >> 31 << 32)) * _GOLDEN_RATIO & _LONG) >> shift

    newest_first = list(values)
    newest_first.reverse()
    return sorted(newest_first, key=bucket)


def timeline_slots(count: int) -> int:
    """Return the number of buckets of a table with snapshots to which so many values were added one by one.

    The table never shrinks. As it grows before it looks whether a value is there already, a table of `count` values in
    which one is replaced has as many as one of `count + 1` values (Kafka's `BaseHashTable.baseAddOrReplace`).
    """
    return 1 << max(1, ((count * 3 - 1) // 4).bit_length())


def grown(count: int) -> int:
    """Return the number of buckets of a table that was empty when its values were added one by one."""
    # A table doubles when it is more than three quarters full.
    return max(_SMALLEST, _power_of_two(-(-count * 4 // 3)))


def copied(count: int) -> int:
    """Return the number of buckets of a table that was made as a copy of a collection."""
    # `HashSet` computes the capacity for a copy with a fraction and 1 more, so it can be twice that of a table that
    # grew.
    return max(_SMALLEST, _power_of_two(count * 4 // 3 + 1))


def string_hash(text: str) -> int:
    """Return `String.hashCode`, as an unsigned number."""
    # Java's characters are UTF-16 units, so one outside the basic plane counts as two.
    encoded = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        code = code * 31 + (high << 8 | low) & _WORD
    return code


def set_hash(texts: Iterable[str]) -> int:
    """Return `Set.hashCode` of a set of strings, as an unsigned number."""
    return sum(map(string_hash, texts)) & _WORD


def uuid_hash(uuid: UUID) -> int:
    """Return `Uuid.hashCode` of Kafka, as an unsigned number."""
    folded = (uuid.int >> 64) ^ uuid.int
    return (folded >> 32 ^ folded) & _WORD


int_hash: Callable[[int], int] = index
"""`Integer.hashCode` of a number that is not negative: the number itself."""


def _power_of_two(at_least: int) -> int:
    return 1 << (at_least - 1).bit_length()
