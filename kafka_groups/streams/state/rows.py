"""The rows of a store: bytes under a layer of uncommitted changes, and their way into changelog and engine."""

from collections.abc import Mapping
from typing import Any

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.serdes import Serde
from kafka_groups.streams.state.engine import NO_NOTES, Changes, Notes
from kafka_groups.streams.state.formats import ValueFormat, decoder, encoder, value_reader
from kafka_groups.streams.state.layered import LayeredTable
from kafka_groups.streams.state.position import Position, inputs_in, position_of
from kafka_groups.streams.state.state_store import ENTRY_BYTES, ChangelogRecord, StoreSurroundings
from kafka_groups.streams.state.update_cache import UpdateCache
from kafka_groups.types import Header, Headers, TopicPartition

__all__ = ["FoundValue", "StoreRows", "no_headers"]

FoundValue = tuple[Any, int]
"""A value and its timestamp, -1 in a store without timestamps."""


def no_headers() -> list[Header]:
    """Return the headers that serdes of stores are given."""
    return []


class StoreRows:
    """The rows of a store in one task. A row's key has the bytes that it has in the changelog.

    Attributes:
        decoded: Returns value and timestamp in stored bytes (-1 in a store without timestamps).
        value: Returns the value in stored bytes, or None if there are none.
        flush: Forwards updates that were held back.
        has_immutable_values: Whether no value can change.
        uncommitted_bytes: The memory of the changes since the last commit. Earlier changes of the same row count, too.

    Args:
        name: The store's name.
        value: The serde of its values.
        layout: The layout of its values.
        surroundings: What it works with.
        caching: Whether operators hold updates back.
        table: Its rows, if they are not one table of the engine.
    """

    def __init__(
        self,
        name: str,
        value: Serde[Any],
        layout: ValueFormat,
        surroundings: StoreSurroundings,
        *,
        caching: bool,
        table: LayeredTable | None = None,
    ) -> None:
        self.name = name
        self._engine = surroundings.engine
        self.is_caching = surroundings.is_caching and caching
        self.has_immutable_values = value.is_immutable
        self.held = UpdateCache(surroundings.record)
        self.flush = self.held.flush
        self.uncommitted_bytes = 0
        self._table = LayeredTable(surroundings.engine.table(name)) if table is None else table
        self._format = layout
        self._before_value = layout.before_value
        self._times: dict[bytes, int] = {}
        self._headers: dict[bytes, Headers] = {}
        read = value.deserializer(surroundings.topic, is_key=False)
        self.decoded = decoder(layout, read)
        self.value = value_reader(layout, read)
        self._encode = encoder(layout, value.serializer(surroundings.topic, is_key=False))

    def get(self, key: bytes) -> FoundValue | None:
        """Return value and timestamp of a row, or None."""
        stored = self._table.get(key)
        return None if stored is None else self.decoded(stored)

    def time_of(self, key: bytes) -> int:
        """Return the timestamp of the last change of a row that was changed since the last commit."""
        return self._times[key]

    def stored(self, key: bytes) -> bytes | None:
        """Return the bytes that the store has for a row, or None."""
        return self._table.get(key)

    def value_bytes(self, value: Any) -> bytes:
        """Return the bytes that the store would have for a value, apart from when it is put."""
        return self._encode(value, 0)

    def put(self, key: bytes, value: Any, timestamp_ms: int, headers: Headers = ()) -> None:
        """Set the value of a row. None deletes it. The changelog gets the headers."""
        stored = None if value is None else self._encode(value, timestamp_ms)
        self._table.put(key, stored)
        self.uncommitted_bytes += ENTRY_BYTES + len(key) + (0 if stored is None else len(stored))
        self._times[key] = timestamp_ms
        # Most stores never get headers, and then nothing is kept for them. Once there are some, a later change without
        # any has to remove them.
        if headers or self._headers:
            self._headers[key] = headers

    def forget(self, key: bytes) -> None:
        """Drop the uncommitted change of a row."""
        self._table.forget(key)
        del self._times[key]
        self._headers.pop(key, None)

    @property
    def position(self) -> Position:
        """The input offsets that were committed with the store."""
        return position_of(self.inputs.items())

    @property
    def inputs(self) -> Mapping[TopicPartition, int]:
        """The offsets of the next input records, as they were committed with the store."""
        return inputs_in(self._engine.notes)

    @property
    def is_changed(self) -> bool:
        """Return whether anything has changed since the last commit."""
        return bool(self._table.changes)

    def recount(self) -> None:
        """Count `uncommitted_bytes` again, each row once."""
        changes = self._table.changes
        self.uncommitted_bytes = sum(
            ENTRY_BYTES + len(key) + (0 if stored is None else len(stored)) for key, stored in changes.items()
        )

    def changelog(self) -> list[ChangelogRecord]:
        """Return the changes since the last commit, one for each row."""
        times, headers, before_value = self._times, self._headers, self._before_value
        return [
            # The changelog has the value alone: the record's timestamp is that of the value
            # (ChangeLoggingTimestampedKeyValueBytesStore.put in Kafka).
            ChangelogRecord(key, stored and stored[before_value:], times[key], headers.get(key, ()))
            for key, stored in self._table.changes.items()
        ]

    def changes(self) -> Changes:
        """Return the changes since the last commit as the engine takes them."""
        return {self.name: self._table.changes}

    def notes(self) -> Notes:
        """Return what the engine has to keep together with the changes. A plain store needs nothing."""
        return NO_NOTES

    def committed(self) -> None:
        """Forget the changes: the engine has them."""
        self._table.forget_changes()
        self._times, self._headers = {}, {}
        self.uncommitted_bytes = 0

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state. The last record of a key counts."""
        return {self.name: self._restored(batch)}

    def _restored(self, batch: ChangelogBatch) -> dict[bytes, bytes | None]:
        join = self._format.join
        # The timestamp of a record comes before the value again (RecordConverters.rawValueToTimestampedValue in Kafka).
        return {
            key: None if value is None else join(value, timestamp_ms)
            for key, value, timestamp_ms in zip(batch.keys, batch.values, batch.timestamps_ms, strict=True)
        }
