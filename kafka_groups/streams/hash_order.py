"""The order in which Java's hash sets have their elements.

Kafka Streams keeps copartition groups and their topics in hash sets, and sends them in the order of the sets. As the
coordinator compares topologies with the order, members in Python have to send the same one.
"""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

__all__ = ["hash_of_set", "hash_of_string", "in_hash_order", "slots_for", "slots_for_copy"]

T = TypeVar("T")

_32_BITS = 0xFFFFFFFF
_FIRST_SLOTS = 16
_LOAD = 0.75


def hash_of_string(text: str) -> int:
    """Return `String.hashCode` as an unsigned number."""
    value = 0
    encoded = text.encode("utf-16-be")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8) + low) & _32_BITS
    return value


def hash_of_set(texts: Iterable[str]) -> int:
    """Return `Set.hashCode` of a set of strings as an unsigned number."""
    return sum(map(hash_of_string, texts)) & _32_BITS


def slots_for(size: int) -> int:
    """Return how many slots a hash set has that has grown to a size."""
    slots = _FIRST_SLOTS
    while size > slots * _LOAD:
        slots *= 2
    return slots


def slots_for_copy(size: int) -> int:
    """Return how many slots a hash set has that was created from a collection of a size, whatever it kept of it."""
    wanted = max(int(size / _LOAD) + 1, _FIRST_SLOTS)
    slots = 1
    while slots < wanted:
        slots *= 2
    return slots


def in_hash_order(items: Collection[T], hash_of: Callable[[T], int], slots: int) -> list[T]:
    """Return items in the order of a hash set. Those in the same slot stay in their order, as if added in it.

    Args:
        items: The items.
        hash_of: Returns the hash of one.
        slots: How many slots the set has, a power of two.
    """

    def slot(item: T) -> int:
        value = hash_of(item)
        return (value ^ (value >> 16)) & (slots - 1)

    return sorted(items, key=slot)
