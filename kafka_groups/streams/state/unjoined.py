"""The store of a left or outer join of streams: records that have not met a partner yet. Its bytes are Java's."""

import struct
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from typing import Any, NamedTuple

from attrs import frozen

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.serdes import Serde, bytes_
from kafka_groups.streams.state.engine import Changes
from kafka_groups.streams.state.key_value import KeyValueState
from kafka_groups.streams.state.rows import no_headers
from kafka_groups.streams.state.state_store import StoreSurroundings
from kafka_groups.streams.state.stores import KeyValueDefinition
from kafka_groups.streams.state.timed_rows import MAX_MS

__all__ = ["UnjoinedDefinition", "UnjoinedRecords", "UnjoinedState"]

_PLACE = struct.Struct(">q?")
_TIME = struct.Struct(">q")
_COUNT = struct.Struct(">bi")
_ITEM = struct.Struct(">i?")
_HAS_LENGTHS = 1  # the first byte of a list: each value is preceded by its length
_SIDE_BYTES = 1


@frozen(kw_only=True)
class UnjoinedDefinition(KeyValueDefinition[bytes, bytes]):
    """The store of records that have not met a partner yet. As a key-value store, it has bytes only.

    Attributes:
        left: The serde of the values of left records.
        right: The serde of the values of right records.
    """

    key: Serde[bytes] = bytes_
    value: Serde[bytes] = bytes_
    left: Serde[Any]
    right: Serde[Any]


class UnjoinedRecords(NamedTuple):
    """The records of one side that have the same key and time, and no partner yet.

    Attributes:
        row: Their key in the store.
        is_left: Whether they are left records.
        key: The bytes of their key.
        time_ms: Their time.
        values: Their values, in the order in which they arrived.
    """

    row: bytes
    is_left: bool
    key: bytes
    time_ms: int
    values: tuple[Any, ...]


class UnjoinedState(KeyValueState):
    """The state of such a store. Both sides of the join work with it, and share its time.

    A row's key is time (int64), side (1 for left) and key. Its value is a list: 1, the number of values (int32), and
    for each its length (int32, with the side), side and value.

    Args:
        definition: The store.
        surroundings: What it works with.

    Attributes:
        oldest_ms: Before this time nothing is looked for that is due. As in Java, it may be later than the first row,
            and the first record after the store is opened looks (there, TimeTracker.minTime overflows in the sum of
            KStreamKStreamJoin.emitNonJoinedOuterRecords).
    """

    def __init__(self, definition: UnjoinedDefinition, surroundings: StoreSurroundings) -> None:
        super().__init__(definition, surroundings)
        serdes = {True: definition.left, False: definition.right}
        self._write = {side: serde.serializer(surroundings.topic, is_key=False) for side, serde in serdes.items()}
        self._read = {side: serde.deserializer(surroundings.topic, is_key=False) for side, serde in serdes.items()}
        self.oldest_ms = -MAX_MS
        self._rows: dict[bool, list[bytes]] = {True: [], False: []}  # of each side, in order
        for row, _ in self._table.scan():
            self._note(row)

    def add(self, key: bytes, value: Any, time_ms: int, *, is_left: bool) -> None:
        """Add a record."""
        row, stored = self.row(key, time_ms, is_left=is_left), self._write[is_left](value, no_headers())
        earlier = self._table.get(row)
        count, items = (0, b"") if earlier is None else (_COUNT.unpack_from(earlier)[1], earlier[_COUNT.size :])
        # Several records of a side may have one key and time. They are one row, whose value is a list (ListValueStore
        # in Kafka, with the side as a byte before each value: LeftOrRightValueSerializer).
        item = _ITEM.pack(len(stored) + _SIDE_BYTES, is_left) + stored
        self.put(row, _COUNT.pack(_HAS_LENGTHS, count + 1) + items + item, time_ms)
        if earlier is None:
            self._note(row)
        self.oldest_ms = min(self.oldest_ms, time_ms)

    def remove(self, row: bytes, now_ms: int) -> None:
        """Remove the records of a row, if there are any. The changelog's tombstone has the time `now_ms`."""
        # Most records that find a partner never waited, and a tombstone for each of them would fill the changelog
        # (ListValueStore.putIfAbsent in Kafka looks first, too).
        if self._table.get(row) is not None:
            self.put(row, None, now_ms)
            self._forget(row)

    def row(self, key: bytes, time_ms: int, *, is_left: bool) -> bytes:
        """Return the key of the row of a side's records with a key and time."""
        return _PLACE.pack(time_ms, is_left) + key

    def overdue(self, left_ms: int, right_ms: int) -> tuple[list[bytes], int]:
        """Return the rows of left records before one time and of right records before the other, and a new `oldest_ms`.

        Rows are in the order of time, right before left, and key.
        """
        due, first_kept = [], []
        for is_left, limit_ms in ((True, left_ms), (False, right_ms)):
            side = self._rows[is_left]
            # Rows begin with their time as a signed number, and times are never negative, so the order of bytes is that
            # of times.
            end = bisect_left(side, _TIME.pack(max(limit_ms, 0)))
            due += side[:end]
            first_kept += side[end : end + 1]
        return sorted(due), self._last_seen(sorted(first_kept))

    def _last_seen(self, first_kept: list[bytes]) -> int:
        """Return the time of the last row that Java looks at: the one after those of both sides that are not due."""
        sides = self._rows.values()
        # KStreamKStreamJoin.emitNonJoinedOuterRecords in Kafka goes on until it has met a row of each side that is not
        # due. If one side has none, it reaches the last row of all.
        if len(first_kept) < len(sides):
            return max((_time(side[-1]) for side in sides if side), default=MAX_MS)
        last = first_kept[-1]
        following = [side[end] for side in sides if (end := bisect_right(side, last)) < len(side)]
        return _time(min(following, default=last))

    def records(self, row: bytes) -> UnjoinedRecords:
        """Return the records of a row that the store has."""
        time_ms, is_left = _PLACE.unpack_from(row)
        stored = self._table.get(row) or _COUNT.pack(_HAS_LENGTHS, 0)
        values = tuple(_items(stored, self._read[is_left]))
        return UnjoinedRecords(row, is_left, row[_PLACE.size :], time_ms, values)

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state. The last record of a row counts."""
        rows = self._restored(batch)
        for row, stored in rows.items():
            was_known = self._table.get(row) is not None
            if was_known and stored is None:
                self._forget(row)
            elif not was_known and stored is not None:
                self._note(row)
        return {self.name: rows}

    def _note(self, row: bytes) -> None:
        insort(self._rows[_PLACE.unpack_from(row)[1]], row)

    def _forget(self, row: bytes) -> None:
        rows = self._rows[_PLACE.unpack_from(row)[1]]
        del rows[bisect_left(rows, row)]


def _time(row: bytes) -> int:
    time_ms: int = _TIME.unpack_from(row)[0]
    return time_ms


def _items(stored: bytes, read: Callable[..., Any]) -> list[Any]:
    found, position = [], _COUNT.size
    for _ in range(_COUNT.unpack_from(stored)[1]):
        length, _side = _ITEM.unpack_from(stored, position)
        start = position + _ITEM.size
        position = start + length - _SIDE_BYTES
        found.append(read(stored[start:position], ()))
    return found
