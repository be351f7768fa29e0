"""The ids of processes, in the order in which Kafka Streams compares them."""

import random
from collections.abc import Iterable
from functools import total_ordering
from typing import Self
from uuid import UUID

from kafka_groups.assignment.java_order import grown, in_hash_order, string_hash, uuid_hash
from kafka_groups.types import random_uuid

__all__ = ["ProcessId", "in_hash_table_order"]

_BITS = 64
_SIGN = 1 << (_BITS - 1)

_Order = tuple[int, int, int, str]


@total_ordering
class ProcessId:
    """The id of a process of an application (KIP-924).

    UUIDs compare as Java compares them: as two signed numbers of 64 bits each, so that `f0000000-…` comes before
    `10000000-…`. Brokers of streams groups also accept text that is not a UUID. It comes after all UUIDs.

    Args:
        id_: A UUID, or text. The text of a UUID, as Java writes it, is that UUID.
    """

    __slots__ = ("_id", "_order")

    def __init__(self, id_: UUID | str) -> None:
        self._id = _parsed(id_) if isinstance(id_, str) else id_
        self._order = _order_of(self._id)

    def __repr__(self) -> str:
        return f"ProcessId({str(self)!r})"

    def __str__(self) -> str:
        return str(self._id)

    def __eq__(self, other: object) -> bool:
        return self._order == other._order if isinstance(other, ProcessId) else NotImplemented

    def __lt__(self, other: "ProcessId") -> bool:
        return self._order < other._order

    def __hash__(self) -> int:
        return hash(self._order)

    @property
    def id(self) -> UUID | str:
        """The UUID, or the text that is none."""
        return self._id

    @classmethod
    def random(cls, rng: random.Random) -> Self:
        """Return a new id."""
        return cls(random_uuid(rng))


def in_hash_table_order(ids: Iterable[ProcessId], buckets: int = 0) -> list[ProcessId]:
    """Return ids in the order of a hash table of Java to which they were added in their order.

    Args:
        ids: The ids.
        buckets: The number of buckets of the table; 0 if it holds nothing but these ids.
    """
    known = sorted(ids)
    return in_hash_order(known, _hash, buckets or grown(len(known)))


def _hash(process_id: ProcessId) -> int:
    id_ = process_id.id
    return string_hash(id_) if isinstance(id_, str) else uuid_hash(id_)


def _parsed(text: str) -> UUID | str:
    try:
        uuid = UUID(text)
    except ValueError:
        return text
    # Other spellings, such as capital letters, name other processes for the brokers, which compare text.
    return uuid if str(uuid) == text else text


def _order_of(id_: UUID | str) -> _Order:
    # Text that is not a UUID cannot occur in Kafka Streams. The brokers of streams groups accept any.
    if isinstance(id_, str):
        return 1, 0, 0, id_
    return 0, _signed(id_.int >> _BITS), _signed(id_.int & ((1 << _BITS) - 1)), ""


def _signed(number: int) -> int:
    return (number ^ _SIGN) - _SIGN
