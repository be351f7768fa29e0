"""Versioned stores: the state of one task, and what processors and queries see of it."""

import struct
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafka_groups.errors import ConfigurationError
from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.streams.state.closed_versions import ClosedVersion, ClosedVersions
from kafka_groups.streams.state.engine import Changes, EngineReader, Notes
from kafka_groups.streams.state.formats import TIMESTAMPED
from kafka_groups.streams.state.position import Position
from kafka_groups.streams.state.rows import StoreRows
from kafka_groups.streams.state.state_store import ENTRY_BYTES, ChangelogRecord, StoreSurroundings
from kafka_groups.streams.state.stores import VersionedDefinition
from kafka_groups.types import Headers

__all__ = [
    "NOT_PUT",
    "VALID_TO_UNDEFINED",
    "StoredVersion",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "VersionedState",
    "times_in",
    "valid_version",
]

K = TypeVar("K")
V = TypeVar("V")

VALID_TO_UNDEFINED: Final = -1
"""The end of the validity of a key's newest version: nobody knows it yet."""

NOT_PUT: Final = -(2**63)
"""Result of `put` for a version that the store refused, because it is older than the history."""

EXPIRED: Final = "its version is older than the history of the store"
_TIME: Final = struct.Struct(">q")
_NOTE: Final = struct.Struct(">qq")
_NO_TIME: Final = -1


class StoredVersion(NamedTuple):
    """A version as the store has it.

    Attributes:
        stored: Time and value in bytes, as the newest version of a key is stored.
        valid_to_ms: The time of the next version, or None if there is none.
    """

    stored: bytes
    valid_to_ms: int | None


def _note_of(name: str) -> str:
    return f"{name}#time"


def times_in(engine: EngineReader, name: str) -> tuple[int, int]:
    """Return the time of a store, and that of the latest tombstone that ended the versions of a key."""
    kept = engine.notes.get(_note_of(name))
    time_ms, deleted_ms = (_NO_TIME, _NO_TIME) if kept is None else _NOTE.unpack(kept)
    return time_ms, deleted_ms


def valid_version(
    newest: bytes | None, closed: ClosedVersions, oldest_ms: int, key: bytes, as_of_ms: int | None
) -> StoredVersion | None:
    """Return the version of a key that is valid at a time, or None. Without a time: the newest one.

    Args:
        newest: The newest version, as it is stored.
        closed: The other versions.
        oldest_ms: The earliest time at which the other versions may be asked for.
        key: The key.
        as_of_ms: The time.
    """
    if as_of_ms is None:
        return None if newest is None else StoredVersion(newest, None)
    if newest is not None and _TIME.unpack_from(newest)[0] <= as_of_ms:
        return StoredVersion(newest, None)
    # Versions that ended since then may have been deleted, and none of them is told, as in Java: the answer must not
    # depend on when they are deleted (RocksDBVersionedStore.get).
    found = None if as_of_ms < oldest_ms else closed.at(key, as_of_ms)
    return None if found is None else StoredVersion(_TIME.pack(found.from_ms) + found.value, found.to_ms)


class VersionedState(StoreRows):
    """The state of a versioned store. Operators work with it directly; their keys are bytes already.

    The newest version of each key is a row of its own, so that `get` reads one row; see `ClosedVersions` for the
    others.

    Attributes:
        valid_to_ms: What the last `put` says: the end of its version's validity, `VALID_TO_UNDEFINED` or `NOT_PUT`.

    Args:
        definition: The store.
        surroundings: What it works with.
    """

    def __init__(self, definition: VersionedDefinition[Any, Any], surroundings: StoreSurroundings) -> None:
        # A cache would keep one of several versions of a key, so there is none, as in Java.
        super().__init__(definition.name, definition.value, TIMESTAMPED, surroundings, caching=False)
        self.definition = definition
        self.valid_to_ms = VALID_TO_UNDEFINED
        self._write_key = definition.key.serializer(surroundings.topic, is_key=True)
        self._dropped = surroundings.dropped
        self._history_ms = definition.history_ms
        self._closed = ClosedVersions(surroundings.engine, definition.name, definition.segment_ms)
        self._changed: dict[tuple[bytes, int], bytes | None] = {}
        self._note_name = _note_of(definition.name)
        self._time_ms, self._deleted_ms = times_in(surroundings.engine, definition.name)

    def key_bytes(self, key: Any) -> bytes:
        """Return a key as the store has it."""
        return self._write_key(key, [])

    @property
    def oldest_ms(self) -> int:
        """The earliest time of a version that the store takes, and at which it can be asked for ended versions."""
        # The store's time is the highest that was put (RocksDBVersionedStore in Kafka, which has a time of its own,
        # too).
        return self._time_ms - self._history_ms

    def version(self, key: bytes, as_of_ms: int | None = None) -> StoredVersion | None:
        """Return the version of a key that is valid at a time, or None. Without a time: the newest one."""
        return valid_version(self._table.get(key), self._closed, self.oldest_ms, key, as_of_ms)

    def put(self, key: bytes, value: Any, timestamp_ms: int, headers: Headers = ()) -> None:
        """Add a version, or replace the one of this time. None: the key has no value from then on.

        The changelog of such a store has no headers. `valid_to_ms` tells the end of the version's validity.
        """
        del headers
        if timestamp_ms < self.oldest_ms:
            # Java logs such a version, and drops it when it restores the store. Nobody needs it, so it is left out.
            self._dropped(self.name, EXPIRED)
            self.valid_to_ms = NOT_PUT
            return
        stored = None if value is None else self._encode(value, timestamp_ms)
        self._changed[key, timestamp_ms] = stored
        self.uncommitted_bytes += _bytes_of(key, stored)
        self.valid_to_ms = self._set(key, stored, timestamp_ms)

    def _set(self, key: bytes, stored: bytes | None, time_ms: int) -> int:
        """Put a version, and return the end of its validity."""
        self._time_ms = max(self._time_ms, time_ms)
        newest = self._table.get(key)
        newest_ms = _NO_TIME if newest is None else _TIME.unpack_from(newest)[0]
        if newest is not None and newest_ms <= time_ms:
            if newest_ms < time_ms:
                self._closed.add(key, ClosedVersion(newest_ms, time_ms, newest[_TIME.size :]))
            return self._set_newest(key, stored, time_ms)
        # A key without a newest version has none at all, or its last one is a tombstone. If no tombstone is so late,
        # nothing has to be looked for.
        is_after_all = newest is None and time_ms > self._deleted_ms
        next_ms = None if is_after_all else self._closed.make_room(key, time_ms)
        if next_ms is None and newest is None:
            return self._set_newest(key, stored, time_ms)
        valid_to_ms = newest_ms if next_ms is None else next_ms
        value = None if stored is None else stored[_TIME.size :]
        self._closed.add(key, ClosedVersion(time_ms, None if value is None else valid_to_ms, value or b""))
        return valid_to_ms

    def _set_newest(self, key: bytes, stored: bytes | None, time_ms: int) -> int:
        self._table.put(key, stored)
        if stored is None:
            self._closed.add(key, ClosedVersion(time_ms, None, b""))
            self._deleted_ms = max(self._deleted_ms, time_ms)
        return VALID_TO_UNDEFINED

    @property
    def is_changed(self) -> bool:
        """Return whether anything has changed since the last commit."""
        return bool(self._changed)

    def recount(self) -> None:
        """Count `uncommitted_bytes` again, each version once."""
        self.uncommitted_bytes = sum(_bytes_of(key, stored) for (key, _), stored in self._changed.items())

    def changelog(self) -> list[ChangelogRecord]:
        """Return the versions that were put since the last commit, in the order of their times."""
        # The last record of a key is its newest version, so that compaction keeps that one. Records of all keys are in
        # this order, as whoever restores the store refuses what is older than the history at that point.
        ordered = sorted(self._changed.items(), key=lambda each: each[0][1])
        return [
            ChangelogRecord(key, None if stored is None else stored[_TIME.size :], time_ms)
            for (key, time_ms), stored in ordered
        ]

    def changes(self) -> Changes:
        """Return the changes since the last commit as the engine takes them, and drop what has expired with them."""
        return {**super().changes(), **self._closed.changes(self.oldest_ms)}

    def notes(self) -> Notes:
        """Return the times of the store, which a later opening continues with."""
        return {self._note_name: _NOTE.pack(self._time_ms, self._deleted_ms)}

    def committed(self) -> None:
        """Forget the changes: the engine has them."""
        super().committed()
        self._closed.forget_changes()
        self._changed = {}

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state, and drop what has expired with it."""
        join = TIMESTAMPED.join
        for key, value, time_ms in zip(batch.keys, batch.values, batch.timestamps_ms, strict=True):
            # A changelog of Java's has versions that its store refused. No version has a negative time.
            if time_ms >= max(self.oldest_ms, 0):
                self._set(key, None if value is None else join(value, time_ms), time_ms)
        changes = self.changes()
        self.committed()
        return changes


class VersionedRecord(NamedTuple, Generic[V]):
    """A version of a versioned store.

    Attributes:
        value: Its value.
        timestamp_ms: The time from which on it is valid.
        valid_to_ms: The time of the next version, at which it is not valid any more. None: it is the newest.
    """

    value: V
    timestamp_ms: int
    valid_to_ms: int | None


class VersionedKeyValueStore(Generic[K, V]):
    """A versioned store as processors, queries and tests see it: values by key and time (KIP-889).

    Values are copied: changing an object that you put or got does not change the store. The store's time is the highest
    that was put. It takes versions up to its history before that time, and tells what was valid up to then.
    """

    def __init__(self, state: VersionedState) -> None:
        self._state = state

    def __repr__(self) -> str:
        return f"<VersionedKeyValueStore {self._state.name!r}>"

    @property
    def name(self) -> str:
        """The store's name."""
        return self._state.name

    @property
    def position(self) -> Position:
        """The input offsets that were committed with the store, of each task that it is read from."""
        return self._state.position

    def put(self, key: K, value: V | None, timestamp_ms: int) -> int:
        """Add a version of a key that is valid from a time on. None: the key has no value from then on.

        It replaces a version of the same time. Other versions keep their times, whatever the order of the puts.

        Returns:
            The time of the next version, or `VALID_TO_UNDEFINED` if this is the newest, or `NOT_PUT` if the store
            refused it, because it is older than the history.

        Raises:
            ConfigurationError: The time is negative.
        """
        self._state.put(self._state.key_bytes(key), value, _checked("timestamp_ms", timestamp_ms))
        return self._state.valid_to_ms

    def get(self, key: K, as_of_ms: int | None = None) -> VersionedRecord[V] | None:
        """Return the newest version of a key, or the one that was valid at a time. None: it had no value then.

        For a time before the history, it returns the newest version if that is as old: others may have been deleted.

        Raises:
            ConfigurationError: The time is negative.
        """
        at_ms = None if as_of_ms is None else _checked("as_of_ms", as_of_ms)
        state = self._state
        found = state.version(state.key_bytes(key), at_ms)
        return None if found is None else VersionedRecord(*state.decoded(found.stored), found.valid_to_ms)

    def delete(self, key: K, timestamp_ms: int) -> VersionedRecord[V] | None:
        """Put None, and return the version that was valid at that time until now, or None.

        If the time is older than the history, nothing is deleted, and the result is None.

        Raises:
            ConfigurationError: The time is negative.
        """
        found = self.get(key, timestamp_ms)
        return None if self.put(key, None, timestamp_ms) == NOT_PUT else found


def _bytes_of(key: bytes, stored: bytes | None) -> int:
    """Return the memory of a change: that of the version, and of the one whose validity it ends."""
    return 2 * ENTRY_BYTES + len(key) + (0 if stored is None else len(stored))


def _checked(keyword: str, time_ms: int) -> int:
    if time_ms < 0:
        raise ConfigurationError(f"{keyword}={time_ms!r} is negative. Give a time in ms since 1970, from 0.")
    return time_ms
