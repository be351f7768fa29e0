"""The buffer of a suppressed table: the last update of each key, until it is taken. Its changelog has Java's bytes."""

import struct
from heapq import heappop, heappush
from itertools import repeat
from typing import Any, NamedTuple

from kafka_groups.errors import DeserializationError
from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.streams.state.engine import NO_NOTES, Changes, Notes
from kafka_groups.streams.state.state_store import ENTRY_BYTES, ChangelogRecord, StoreSurroundings
from kafka_groups.streams.state.stores import SuppressDefinition
from kafka_groups.types import Header, Headers

__all__ = ["BufferedUpdate", "SuppressBuffer", "read_update", "update_row"]

_VERSION: Header = ("v", b"\x03")
_INT, _LONG, _CONTEXT = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">qq")
_NULL, _SAME_AS_PRIOR = -1, -2
_FIXED_BYTES = 3 * _LONG.size + _INT.size  # both times, offset and partition


class BufferedUpdate(NamedTuple):
    """The last update of a key, and the record that made it.

    Attributes:
        due_ms: The time that decides about its turn; later updates of the key do not change it.
        timestamp_ms: Its timestamp.
        topic: The topic of its record, or None if a punctuation made it.
        partition: The partition of its record.
        offset: The offset of its record.
        headers: Its headers.
        prior: The value before the first update that the buffer has had of the key since it took one out.
        old: The value before the last update.
        new: The value; None deletes the row.
    """

    due_ms: int
    timestamp_ms: int
    topic: str | None
    partition: int
    offset: int
    headers: Headers
    prior: bytes | None
    old: bytes | None
    new: bytes | None

    @property
    def size_bytes(self) -> int:
        """Its size without key, as Java counts it: texts by characters, an old value once."""
        # BufferValue.residentMemorySizeEstimate in Kafka: limits in bytes mean the same in both languages.
        old = None if self.old == self.prior else self.old
        headers = sum([len(key) + len(value or b"") for key, value in self.headers]) if self.headers else 0
        values = len(self.new or b"") + len(self.prior or b"") + len(old or b"")
        return _FIXED_BYTES + len(self.topic or "") + headers + values


class SuppressBuffer:
    """The updates of one task that wait, in the order of their times and then of their keys' bytes.

    Args:
        definition: The store.
        surroundings: What it works with.

    Attributes:
        size_bytes: The size of all updates with their keys, as Java counts it.
        uncommitted_bytes: The memory of the changes since the last commit. Earlier changes of the same key count, too.
    """

    def __init__(self, definition: SuppressDefinition[Any, Any], surroundings: StoreSurroundings) -> None:
        self.name = definition.name
        self.definition = definition
        self.size_bytes = self.uncommitted_bytes = 0
        self._engine = surroundings.engine
        self._record = surroundings.record
        self._changed: dict[bytes, None] = {}
        self._written: dict[bytes, bytes | None] | None = None  # the rows of what changed, once they are needed
        self._updates: dict[bytes, BufferedUpdate] = {}
        self._sizes: dict[bytes, int] = {}
        self._turns: list[tuple[int, bytes]] = []  # a heap, which may have keys that are gone
        topic = surroundings.topic
        self._write_key = definition.key.serializer(topic, is_key=True)
        self._read_key = definition.key.deserializer(topic, is_key=True)
        self._write_value = definition.value.serializer(topic, is_key=False)
        self._read_value = definition.value.deserializer(topic, is_key=False)
        for key, stored in self._engine.table(self.name).scan(b"", None):
            self._set(key, read_update(stored))

    def __len__(self) -> int:
        return len(self._updates)

    def key_bytes(self, key: Any) -> bytes:
        """Return a key as the store has it."""
        return self._write_key(key, [])

    def key(self, key: bytes) -> Any:
        """Return the key with these bytes."""
        return self._read_key(key, ())

    def value(self, value: bytes | None) -> Any:
        """Return the value with these bytes, or None."""
        return None if value is None else self._read_value(value, ())

    def get(self, key: bytes) -> BufferedUpdate | None:
        """Return the update of a key that waits, or None."""
        return self._updates.get(key)

    def put(self, key: bytes, new: Any, old: Any, timestamp_ms: int, headers: Headers, *, due_ms: int) -> None:
        """Set the last update of a key. It takes the turn of the one that waits already, if there is one."""
        known, record, write = self._updates.get(key), self._record, self._write_value
        old_bytes = None if old is None else write(old, [])
        update = BufferedUpdate(
            # A later update does not begin to wait anew, or a key that changes often would never come out
            # (InMemoryTimeOrderedKeyValueChangeBuffer.cleanPut in Kafka).
            due_ms=due_ms if known is None else known.due_ms,
            timestamp_ms=timestamp_ms,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            headers=headers,
            # What was last forwarded is what was there before the first update that waits
            # (InMemoryTimeOrderedKeyValueChangeBuffer.put).
            prior=old_bytes if known is None else known.prior,
            old=old_bytes,
            new=None if new is None else write(new, []),
        )
        self._set(key, update)
        self._note_change(key)

    @property
    def first_ms(self) -> int | None:
        """The time of the update whose turn is next, or None if there is none."""
        turns, updates = self._turns, self._updates
        while turns:
            due_ms, key = turns[0]
            found = updates.get(key)
            # Otherwise the key was taken out, and perhaps came again with another time. Entries of the heap are removed
            # only when they come to the top.
            if found is not None and found.due_ms == due_ms:
                return due_ms
            heappop(turns)
        return None

    def take(self) -> tuple[bytes, BufferedUpdate]:
        """Take the update out whose turn is next.

        Raises:
            LookupError: There is none.
        """
        if self.first_ms is None:
            raise LookupError(f"The buffer {self.name!r} is empty")
        key = heappop(self._turns)[1]
        update = self._updates[key]
        self._remove(key)
        self._note_change(key)
        return key, update

    @property
    def is_changed(self) -> bool:
        """Return whether anything has changed since the last commit."""
        return bool(self._changed)

    def recount(self) -> None:
        """Count `uncommitted_bytes` again, each key once."""
        self.uncommitted_bytes = sum(ENTRY_BYTES + self._sizes.get(key, len(key)) for key in self._changed)

    def flush(self) -> None:
        """Forward nothing: the operator decides about turns."""

    def changelog(self) -> list[ChangelogRecord]:
        """Return the changes since the last commit, one for each key. They get the time of writing, as in Java."""
        # A tombstone has no version header in Java either (InMemoryTimeOrderedKeyValueChangeBuffer.logTombstone).
        rows = self._rows().items()
        return [ChangelogRecord(key, row, None, () if row is None else (_VERSION,)) for key, row in rows]

    def changes(self) -> Changes:
        """Return the changes since the last commit as the engine takes them."""
        return {self.name: self._rows()}

    def notes(self) -> Notes:
        """Return what the engine has to keep together with the changes: nothing."""
        return NO_NOTES

    def committed(self) -> None:
        """Forget the changes: the engine has them."""
        self._changed, self._written = {}, None
        self.uncommitted_bytes = 0

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state. The last record of a key counts.

        Raises:
            DeserializationError: One is not of the version that this program knows.
        """
        headers = repeat(()) if batch.headers is None else batch.headers
        last = {key: (value, each) for key, value, each in zip(batch.keys, batch.values, headers, strict=False)}
        for key, (value, each) in last.items():
            self._remove(key)
            if value is not None:
                # Java also reads versions 0 to 2, of releases up to 2.5. An application of that age is upgraded with
                # Java first.
                _check_version(self.name, each)
                self._set(key, read_update(value))
        return {self.name: {key: value for key, (value, _) in last.items()}}

    def _note_change(self, key: bytes) -> None:
        self._changed[key] = None
        self._written = None
        self.uncommitted_bytes += ENTRY_BYTES + self._sizes.get(key, len(key))

    def _rows(self) -> dict[bytes, bytes | None]:
        """Return what changed since the last commit, as bytes."""
        if self._written is None:
            self._written = {
                key: None if (update := self._updates.get(key)) is None else update_row(update) for key in self._changed
            }
        return self._written

    def _set(self, key: bytes, update: BufferedUpdate) -> None:
        size_bytes = len(key) + update.size_bytes
        # A key that waits already keeps its place in the heap, as its time stays.
        if key not in self._updates:
            heappush(self._turns, (update.due_ms, key))
        self.size_bytes += size_bytes - self._sizes.get(key, 0)
        self._updates[key], self._sizes[key] = update, size_bytes

    def _remove(self, key: bytes) -> None:
        self._updates.pop(key, None)
        self.size_bytes -= self._sizes.pop(key, 0)


def _check_version(name: str, headers: Headers) -> None:
    if _VERSION not in headers:
        raise DeserializationError(
            f"The changelog of the suppress buffer {name!r} has a record with the headers {headers!r}. Only "
            "version 3 is supported, with the header v=3."
        )


def update_row(update: BufferedUpdate) -> bytes:
    """Return an update as the store and the changelog have it."""
    topic = (update.topic or "").encode()
    context = _CONTEXT.pack(update.timestamp_ms, update.offset) + _sized(topic) + _INT.pack(update.partition)
    headers = b"".join(_sized(key.encode()) + _sized(value) for key, value in update.headers)
    # BufferValue.serialize in Kafka writes equal values once.
    is_same = update.old is not None and update.old == update.prior
    old = _INT.pack(_SAME_AS_PRIOR) if is_same else _sized(update.old)
    values = _sized(update.prior) + old + _sized(update.new)
    return context + _INT.pack(len(update.headers)) + headers + values + _LONG.pack(update.due_ms)


def _sized(data: bytes | None) -> bytes:
    return _INT.pack(_NULL) if data is None else _INT.pack(len(data)) + data


class _UpdateReader:
    """Reads the parts of a buffered update from its bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, layout: struct.Struct) -> int:
        found: int = layout.unpack_from(self._data, self._at)[0]
        self._at += layout.size
        return found

    def taken(self, length: int) -> bytes:
        start, self._at = self._at, self._at + length
        return self._data[start : self._at]

    def sized(self) -> bytes | None:
        length = self.number(_INT)
        return None if length == _NULL else self.taken(length)

    def old(self, prior: bytes | None) -> bytes | None:
        length = self.number(_INT)
        # BufferValue.deserialize in Kafka.
        if length == _SAME_AS_PRIOR:
            return prior
        return None if length == _NULL else self.taken(length)

    def header(self) -> Header:
        return (self.sized() or b"").decode(), self.sized()


def read_update(data: bytes) -> BufferedUpdate:
    """Return an update in bytes.

    Raises:
        DeserializationError: They are cut off or broken.
    """
    reader = _UpdateReader(data)
    try:
        timestamp_ms, offset = reader.number(_LONG), reader.number(_LONG)
        topic, partition = (reader.sized() or b"").decode() or None, reader.number(_INT)
        headers = tuple(reader.header() for _ in range(reader.number(_INT)))
        prior = reader.sized()
        old, new = reader.old(prior), reader.sized()
        due_ms = reader.number(_LONG)
    except (struct.error, UnicodeDecodeError) as error:
        raise DeserializationError(f"An update of a buffer is cut off or broken: {data!r}.") from error
    return BufferedUpdate(
        due_ms=due_ms,
        timestamp_ms=timestamp_ms,
        topic=topic,
        partition=partition,
        offset=offset,
        headers=headers,
        prior=prior,
        old=old,
        new=new,
    )
