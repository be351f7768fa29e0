"""The versions in a versioned store that are not the newest of their keys, in segments by the ends of validity."""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_groups.streams.state.engine import Changes, EngineReader
from kafka_groups.streams.state.layered import LayeredTable

__all__ = ["ClosedVersion", "ClosedVersions"]

_TIME: Final = struct.Struct(">q")
_TIME_BYTES: Final = _TIME.size
_FIRST: Final = _TIME.pack(0)
_LAST: Final = b"\xff" * (_TIME_BYTES + 1)  # behind all times, which are not negative
_TOMBSTONE: Final = _TIME.pack(-(2**63))


class ClosedVersion(NamedTuple):
    """A version that another one follows, or a tombstone.

    Attributes:
        from_ms: The time of the version.
        to_ms: The time of the next version of its key, or None for a tombstone, which has no validity to end.
        value: Its value in bytes; empty for a tombstone.
    """

    from_ms: int
    to_ms: int | None
    value: bytes


class ClosedVersions:
    """Versions by key and time, with their uncommitted changes.

    The row of a version is key and time (int64), and its value is the end of its validity (int64) and the value. It is
    in the segment of that end, so that a segment has nothing that counts once its span of time is older than the
    history. A tombstone is in the segment of its own time: older values that come later must not outlive it.

    Args:
        engine: Has the tables.
        name: The store's name. The tables have it, and the number of their segment.
        segment_ms: The span of time of a segment.
    """

    def __init__(self, engine: EngineReader, name: str, segment_ms: int) -> None:
        self._engine = engine
        self._prefix = f"{name}@"
        self._segment_ms = segment_ms
        numbers = sorted(int(each.removeprefix(self._prefix)) for each in engine.tables(self._prefix))
        self._tables = {number: LayeredTable(engine.table(self._name(number))) for number in numbers}

    def __len__(self) -> int:
        """Return how many rows have been changed since the last commit."""
        return sum(len(table.changes) for table in self._tables.values())

    def add(self, key: bytes, version: ClosedVersion) -> None:
        """Put a version that is not there yet."""
        from_ms, to_ms, value = version
        if to_ms is None:
            self._table(from_ms).put(_row(key, from_ms), _TOMBSTONE)
        else:
            self._table(to_ms).put(_row(key, from_ms), _TIME.pack(to_ms) + value)

    def at(self, key: bytes, time_ms: int) -> ClosedVersion | None:
        """Return the version of a key that was valid at a time, or None."""
        for _, table in self._from(time_ms):
            found = _before(table, key, time_ms)
            if found is not None and found.to_ms is not None and found.to_ms > time_ms:
                return found
        return None

    def make_room(self, key: bytes, time_ms: int) -> int | None:
        """End the version of a key that is valid at a time then, and remove one that begins then.

        Returns:
            The time of the next version of the key, or None if there is none among these.
        """
        # No version of the key is in an earlier segment that is later than this time, or valid then. The first segment
        # that has such a version has the first of them: ends of validity are in the order of beginnings.
        for number, table in self._from(time_ms):
            found = _before(table, key, time_ms)
            if found is not None and found.from_ms == time_ms:
                table.put(_row(key, time_ms), None)
                if found.to_ms is not None:
                    return found.to_ms
            elif found is not None and found.to_ms is not None and found.to_ms > time_ms:
                if number != time_ms // self._segment_ms:
                    table.put(_row(key, found.from_ms), None)
                self.add(key, found._replace(to_ms=time_ms))
                return found.to_ms
            if (next_ms := _after(table, key, time_ms)) is not None:
                return next_ms
        return None

    def changes(self, oldest_ms: int) -> Changes:
        """Return the changes by table, to be committed. Segments that have expired are deleted, with their changes.

        Args:
            oldest_ms: The earliest time at which a version can be asked for.
        """
        expired = [number for number in self._tables if number < oldest_ms // self._segment_ms]
        for number in expired:
            del self._tables[number]
        changed = {self._name(number): table.changes for number, table in self._tables.items() if table.changes}
        return {**dict.fromkeys(map(self._name, expired)), **changed}

    def forget_changes(self) -> None:
        """Drop the changes: the engine has them."""
        for table in self._tables.values():
            table.forget_changes()

    def _from(self, time_ms: int) -> list[tuple[int, LayeredTable]]:
        first = time_ms // self._segment_ms
        return [(number, table) for number, table in self._tables.items() if number >= first]

    def _table(self, time_ms: int) -> LayeredTable:
        number = time_ms // self._segment_ms
        found = self._tables.get(number)
        if found is None:
            found = LayeredTable(self._engine.table(self._name(number)))
            self._tables = dict(sorted({**self._tables, number: found}.items()))
        return found

    def _name(self, number: int) -> str:
        return f"{self._prefix}{number}"


def _row(key: bytes, time_ms: int) -> bytes:
    return key + _TIME.pack(time_ms)


def _before(table: LayeredTable, key: bytes, time_ms: int) -> ClosedVersion | None:
    """Return the last version of a key in a segment that begins at a time or before."""
    return _first(key, table.walk(key + _FIRST, _row(key, time_ms) + b"\0", reverse=True))


def _after(table: LayeredTable, key: bytes, time_ms: int) -> int | None:
    """Return the time of the first version of a key in a segment that begins after a time."""
    found = _first(key, table.walk(_row(key, time_ms) + b"\0", key + _LAST))
    return None if found is None else found.from_ms


def _first(key: bytes, rows: Iterator[tuple[bytes, bytes]]) -> ClosedVersion | None:
    # Rows of longer keys may lie between those of a key. What follows a key has a fixed length, so the length tells.
    length = len(key) + _TIME_BYTES
    row, stored = next((each for each in rows if len(each[0]) == length), (b"", b""))
    if not row:
        return None
    from_ms: int = _TIME.unpack_from(row, len(key))[0]
    if stored == _TOMBSTONE:
        return ClosedVersion(from_ms, None, b"")
    return ClosedVersion(from_ms, _TIME.unpack_from(stored)[0], stored[_TIME_BYTES:])
