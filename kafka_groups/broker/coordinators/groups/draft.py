"""A group as it will be after the records that an operation has created so far.

Its tables are laid over those of the group, which stay as they are and are not copied.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Generic, Protocol, TypeVar

from attrs import define, evolve, field

__all__ = ["GroupDraft", "Overlay", "put"]

K = TypeVar("K")
V = TypeVar("V")

_REMOVED: Any = object()


class _Replaying(Protocol):
    def replay(self, record: Any, /) -> None: ...


G = TypeVar("G", bound=_Replaying)
R = TypeVar("R")


class GroupDraft(Generic[G, R]):
    """A group with the records of an operation laid over it. The group itself does not change, and is not copied.

    Each record is replayed on the draft at once, with the same `replay` that will change the group itself. The steps of
    an operation therefore see each other's effects, and the group ends in the same state as the draft.

    Args:
        group: The group, an attrs class. Its `TABLES` names the attributes that are tables.

    Attributes:
        group: The group with the records.
        records: The records so far.
    """

    def __init__(self, group: G) -> None:
        stored: Any = group
        self.group: G = evolve(stored, **{name: Overlay(getattr(stored, name)) for name in stored.TABLES})
        self.records: list[R] = []

    def write(self, record: R) -> None:
        """Add a record."""
        self.group.replay(record)
        self.records.append(record)


@define(eq=False, repr=False)
class Overlay(MutableMapping[K, V]):
    """A table with pending changes on top. Added entries come after those of the table.

    Args:
        table: The table, which must not change as long as this is used.
    """

    _table: Mapping[K, V]
    _changes: dict[K, V] = field(factory=dict, init=False)
    _growth: int = field(default=0, init=False)

    def __repr__(self) -> str:
        return f"<Overlay of {len(self._changes)} changes over {len(self._table)} entries>"

    def __len__(self) -> int:
        return len(self._table) + self._growth

    def __iter__(self) -> Iterator[K]:
        # An entry that was changed keeps its place, as in a dictionary. Assignors depend on the order of members.
        yield from (key for key in self._table if self._changes.get(key) is not _REMOVED)
        added = (key for key, value in self._changes.items() if value is not _REMOVED)
        yield from (key for key in added if key not in self._table)

    def __getitem__(self, key: K) -> V:
        if key not in self._changes:
            return self._table[key]
        value = self._changes[key]
        if value is _REMOVED:
            raise KeyError(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self._growth += key not in self
        self._changes[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self._growth -= 1
        # The table below must stay as it is, so a removal is only marked.
        self._changes[key] = _REMOVED


def put(table: MutableMapping[K, V], key: K, value: V | None) -> None:
    """Set an entry of a table, or remove it if there is no value."""
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
