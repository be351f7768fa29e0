"""A mapping whose old versions stay valid. A change makes a new version, and costs as little as in a dictionary.

All versions share one dictionary, as Baker's persistent arrays do ("Shallow binding makes functional arrays fast",
1991). The newest version has it. An older version has what was different in it, and a link to the version after it. So
the newest version, which nearly everybody reads, is as fast as a dictionary, and a version that nobody has any more
leaves nothing behind.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, overload

__all__ = ["PersistentMap"]

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_ABSENT: Any = object()


class PersistentMap(Generic[K, V]):
    """Values by key. The newest version lists them in the order in which their keys were added."""

    __slots__ = ("_entries", "_newer", "_undo")

    def __init__(self) -> None:
        self._entries: dict[K, V] | None = {}
        self._newer: PersistentMap[K, V] | None = None
        self._undo: dict[K, V] = {}

    def __repr__(self) -> str:
        return f"PersistentMap({self._dictionary()!r})"

    def __len__(self) -> int:
        return len(self._dictionary())

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._dictionary()))

    def __contains__(self, key: K) -> bool:
        return self.get(key, _ABSENT) is not _ABSENT

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        version: PersistentMap[K, V] | None = self
        while version is not None:
            if version._entries is not None:
                return version._entries.get(key, default)
            if key in version._undo:
                value = version._undo[key]
                return default if value is _ABSENT else value
            version = version._newer
        return default

    def values(self) -> tuple[V, ...]:
        """Return the values."""
        return tuple(self._dictionary().values())

    def with_entries(self, put: Mapping[K, V], removed: Iterable[K] = ()) -> "PersistentMap[K, V]":
        """Return a map with these entries added or replaced, and without the removed keys."""
        changed: PersistentMap[K, V] = PersistentMap()
        entries = self._entries
        if entries is None:
            entries = self._dictionary()  # a copy: another version was made from this one before
        else:
            for key in (*put, *removed):
                self._undo[key] = entries.get(key, _ABSENT)
            self._newer, self._entries = changed, None
        entries.update(put)
        for key in removed:
            entries.pop(key, None)
        changed._entries = entries
        return changed

    def _dictionary(self) -> dict[K, V]:
        """Return all entries; as a copy if this is not the newest version."""
        if self._entries is not None:
            return self._entries
        older: list[PersistentMap[K, V]] = []
        version = self
        while version._newer is not None:
            older.append(version)
            version = version._newer
        entries = dict(version._entries or {})
        for version in reversed(older):
            entries.update(version._undo)
        return {key: value for key, value in entries.items() if value is not _ABSENT}
