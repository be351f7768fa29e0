"""The rows of a table in LMDB, whose keys have 1 to 511 bytes: longer ones and the empty one are stored differently."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from attrs import define

from kafka_groups.streams.state.engine import KeyedBytes

__all__ = ["EMPTY_KEYS", "LmdbRows"]

EMPTY_KEYS: Final = "#empty"
"""The table of the values whose key is empty, by the names of their tables."""

_LONGEST: Final = 478
_DIGEST_BYTES: Final = 32
_LONG_BYTES: Final = _LONGEST + _DIGEST_BYTES  # no key that is stored as it is has so many
_LENGTH: Final = struct.Struct(">I")


def _stored_key(key: bytes) -> bytes:
    return key if len(key) <= _LONGEST else key[:_LONGEST] + blake2b(key, digest_size=_DIGEST_BYTES).digest()


def _stored(key: bytes, value: bytes) -> KeyedBytes:
    """Return a row as LMDB has it. A long key stands before its value, with its length."""
    if len(key) <= _LONGEST:
        return key, value
    return _stored_key(key), _LENGTH.pack(len(key)) + key + value


def _row(stored_key: bytes, stored: bytes) -> KeyedBytes:
    if len(stored_key) != _LONG_BYTES:
        return stored_key, stored
    end = _LENGTH.size + _LENGTH.unpack_from(stored)[0]
    return stored[_LENGTH.size : end], stored[end:]


@define
class LmdbRows:
    """The rows of one table.

    Attributes:
        name: The table's name.
        db: Its handle in LMDB.
        empties: The handle of the table of empty keys.
    """

    name: str
    db: Any
    empties: Any

    def get(self, txn: Any, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        found: bytes | None
        if not key:
            found = txn.get(self.name.encode(), db=self.empties)
            return found
        found = txn.get(_stored_key(key), db=self.db)
        return found if found is None or len(key) <= _LONGEST else _row(_stored_key(key), found)[1]

    def count(self, txn: Any) -> int:
        """Return the number of rows."""
        entries: int = txn.stat(self.db)["entries"]
        return entries + (self.get(txn, b"") is not None)

    def apply(self, txn: Any, rows: Mapping[bytes, bytes | None]) -> None:
        """Change rows. None deletes a key."""
        # In the order of keys: each page is then found once. Keys alone are sorted faster than pairs.
        keys = sorted(rows)
        if keys and not keys[0]:
            self._set_empty(txn, rows[b""])
            del keys[0]
        put = self._in_order(keys, rows)
        with txn.cursor(self.db) as cursor:
            cursor.putmulti(put, append=bool(put) and self._is_behind(cursor, put[0][0]))
        if len(put) < len(keys):
            for key in keys:
                if rows[key] is None:
                    txn.delete(_stored_key(key), db=self.db)

    @staticmethod
    def _in_order(keys: list[bytes], rows: Mapping[bytes, bytes | None]) -> list[KeyedBytes]:
        """Return what LMDB has to put, in its order, which is another one for long keys with the same beginning."""
        put = [(key, value) for key in keys if (value := rows[key]) is not None]
        if max(map(len, keys), default=0) <= _LONGEST:
            return put
        return sorted(_stored(key, value) for key, value in put)

    @staticmethod
    def _is_behind(cursor: Any, key: bytes) -> bool:
        """Return whether a key comes after all others, which makes full pages."""
        return not cursor.last() or cursor.key() < key

    def _set_empty(self, txn: Any, value: bytes | None) -> None:
        if value is None:
            txn.delete(self.name.encode(), db=self.empties)
        else:
            txn.put(self.name.encode(), value, db=self.empties)

    def scan(self, txn: Any, low: bytes, high: bytes | None, *, reverse: bool) -> Iterator[KeyedBytes]:
        """Iterate over the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        empty = self.get(txn, b"") if not low and high != b"" else None
        if empty is not None and not reverse:
            yield b"", empty
        with txn.cursor(self.db) as cursor:
            found = self._backwards(cursor, low, high) if reverse else self._forwards(cursor, low, high)
            for key, value in _in_order(found, reverse=reverse):
                if low <= key and (high is None or key < high):
                    yield key, value
        if empty is not None and reverse:
            yield b"", empty

    @staticmethod
    def _forwards(cursor: Any, low: bytes, high: bytes | None) -> Iterator[KeyedBytes]:
        # The digest of a long key says nothing about its place among those with the same beginning.
        if not (cursor.set_range(low[:_LONGEST]) if low else cursor.first()):
            return
        last = None if high is None else high[:_LONGEST]
        for key, stored in cursor.iternext():
            if last is not None and key[:_LONGEST] > last:
                return
            yield key, stored

    @staticmethod
    def _backwards(cursor: Any, low: bytes, high: bytes | None) -> Iterator[KeyedBytes]:
        first = low[:_LONGEST]
        behind = high
        if high is not None and len(high) > _LONGEST:
            behind = high[:_LONGEST] + b"\xff" * (_DIGEST_BYTES + 1)
        is_inside = behind is not None and cursor.set_range(behind)
        if not (cursor.prev() if is_inside else cursor.last()):
            return
        for key, stored in cursor.iterprev():
            if key[:_LONGEST] < first:
                return
            yield key, stored


def _in_order(found: Iterable[KeyedBytes], *, reverse: bool) -> Iterator[KeyedBytes]:
    """Iterate over the rows that LMDB has found in the order of their keys."""
    # Long keys with the same beginning lie side by side, in the order of their digests.
    for is_long, stored in groupby(found, lambda each: len(each[0]) == _LONG_BYTES):
        if not is_long:
            yield from stored
            continue
        for _, same in groupby(stored, lambda each: each[0][:_LONGEST]):
            yield from sorted((_row(*each) for each in same), key=itemgetter(0), reverse=reverse)
