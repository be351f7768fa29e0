"""A table with changes laid over it: the table itself stays as it is, and is not copied."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

__all__ = ["Overlay", "overlays", "put"]

K = TypeVar("K")
V = TypeVar("V")

_REMOVED: Any = object()


class Overlay(MutableMapping[K, V]):
    """What a table will be after some changes. Entries that are added stand behind those of the table.

    Args:
        table: The table, which must not change as long as this is used.
    """

    def __init__(self, table: Mapping[K, V]) -> None:
        self._table = table
        self._changes: dict[K, V] = {}
        self._count = len(table)

    def __repr__(self) -> str:
        return f"<Overlay of {len(self._changes)} changes over {len(self._table)} entries>"

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
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
        self._count += key not in self
        self._changes[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self._count -= 1
        self._changes[key] = _REMOVED


def overlays(group: object, tables: Iterable[str]) -> dict[str, Any]:
    """Return overlays of some tables of a group by attribute, for a copy that can be changed without the group."""
    return {name: Overlay(getattr(group, name)) for name in tables}


def put(table: MutableMapping[K, V], key: K, value: V | None) -> None:
    """Set an entry of a table, or remove it if there is no value."""
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
