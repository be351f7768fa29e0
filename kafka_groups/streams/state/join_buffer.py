"""The buffer of a join of a stream with a versioned table: records that wait for late rows. Its bytes are Java's."""

import struct
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from attrs import field, frozen

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.serdes import Serde, bytes_
from kafka_groups.streams.state.engine import Changes, Notes
from kafka_groups.streams.state.formats import PLAIN
from kafka_groups.streams.state.rows import StoreRows
from kafka_groups.streams.state.segments import MAX_MS
from kafka_groups.streams.state.state_store import ChangelogRecord, StoreSurroundings
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.state.suppress_buffer import BufferedUpdate, read_update, update_row
from kafka_groups.types import Headers

__all__ = ["JoinBuffer", "JoinBufferDefinition", "WaitingRecord"]

K = TypeVar("K")
V = TypeVar("V")

_TIME: Final = struct.Struct(">bq")
_NUMBER: Final = struct.Struct(">i")
_NOTE: Final = struct.Struct(">qi")
_FIRST: Final = _TIME.pack(0, 0)
_END: Final = b"\1"  # behind all rows
_TIME_FIRST: Final = 0  # the first byte of a row whose time comes next
_NO_TIME: Final = -1
_NEVER_USED_MS: Final = 0  # the row has the time that decides


@frozen(kw_only=True)
class JoinBufferDefinition(StoreDefinition, Generic[K, V]):
    """The buffer of a join of a stream with a versioned table.

    Attributes:
        key: The serde of the stream's keys.
        value: The serde of its values.
    """

    caching: bool | None = field(default=False, init=False)

    key: Serde[K]
    value: Serde[V]


class WaitingRecord(NamedTuple):
    """A record that waits.

    Attributes:
        row: Its key in the store.
        key: Its key.
        value: Its value.
        update: Its times, headers and place in its topic.
    """

    row: bytes
    key: Any
    value: Any
    update: BufferedUpdate


class JoinBuffer(StoreRows):
    """The records of one task that wait, in the order of time, key and arrival.

    A row's key is 0 (one byte), time (int64), key and a number (int32), which counts up. Its value is laid out as that
    of a suppressed table's buffer.

    Args:
        definition: The store.
        surroundings: What it works with.
    """

    def __init__(self, definition: JoinBufferDefinition[Any, Any], surroundings: StoreSurroundings) -> None:
        super().__init__(definition.name, bytes_, PLAIN, surroundings, caching=False)
        self.definition = definition
        topic = surroundings.topic
        self._record = surroundings.record
        self._write_key = definition.key.serializer(topic, is_key=True)
        self._read_key = definition.key.deserializer(topic, is_key=True)
        self._write_value = definition.value.serializer(topic, is_key=False)
        self._read_value = definition.value.deserializer(topic, is_key=False)
        self._note_name = f"{definition.name}#time"
        kept = surroundings.engine.notes.get(self._note_name)
        self._time_ms: int
        self._number: int
        self._time_ms, self._number = (_NO_TIME, 0) if kept is None else _NOTE.unpack(kept)
        self._first_ms = self._time_of_first()

    @property
    def time_ms(self) -> int:
        """The highest time of a record that has waited."""
        return self._time_ms

    def key_bytes(self, key: Any) -> bytes:
        """Return a key as the store has it."""
        return self._write_key(key, [])

    def add(self, key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        """Let a record wait."""
        record = self._record
        key_bytes = self.key_bytes(key)
        update = BufferedUpdate(
            due_ms=_NEVER_USED_MS,
            timestamp_ms=timestamp_ms,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            headers=headers,
            prior=None,
            old=None,
            new=self._write_value(value, []),
        )
        # The number makes each row's key unique (RocksDBTimeOrderedKeyValueBuffer.maybeUpdateSeqnumForDups in Kafka).
        self._number = (self._number + 1) & 0x7FFFFFFF
        row = _TIME.pack(_TIME_FIRST, timestamp_ms) + key_bytes + _NUMBER.pack(self._number)
        self.put(row, update_row(update), timestamp_ms)
        self._note(row)

    def take(self, last_ms: int, forward: Callable[[WaitingRecord], None]) -> None:
        """Take out the records up to a time, and give each to a function."""
        if last_ms < self._first_ms:
            return
        # The function may raise, or let the task process more: what it got is out by then.
        for row, stored in list(self._table.walk(_FIRST, _TIME.pack(_TIME_FIRST, last_ms + 1))):
            update = read_update(stored)
            self.put(row, None, update.timestamp_ms)
            key = self._read_key(row[_TIME.size : -_NUMBER.size], ())
            forward(WaitingRecord(row, key, self._read_value(update.new or b"", ()), update))
        self._first_ms = self._time_of_first()

    def changelog(self) -> list[ChangelogRecord]:
        """Return the changes since the last commit, one for each row. They get the time of writing, as in Java."""
        return [ChangelogRecord(row, stored, None) for row, stored in self._table.changes.items()]

    def notes(self) -> Notes:
        """Return the time of the buffer and its last number, which a later opening continues with."""
        return {self._note_name: _NOTE.pack(self._time_ms, self._number)}

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state. The last record of a row counts."""
        for row in batch.keys:
            # Numbers go on after those in the changelog, so that a new record does not replace a restored one.
            self._number = max(self._number, _NUMBER.unpack(row[-_NUMBER.size :])[0])
            self._note(row)
        return super().restore(batch)

    def _note(self, row: bytes) -> None:
        time_ms = _TIME.unpack_from(row)[1]
        self._time_ms = max(self._time_ms, time_ms)
        self._first_ms = min(self._first_ms, time_ms)

    def _time_of_first(self) -> int:
        first = next(self._table.walk(_FIRST, _END), None)
        return MAX_MS if first is None else int(_TIME.unpack_from(first[0])[1])
