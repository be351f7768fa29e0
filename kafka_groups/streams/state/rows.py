"""The rows of a store: bytes under a layer of uncommitted changes, and their way into changelog and engine."""

from collections.abc import Iterator
from typing import Any

from kafka_groups.serdes import Serde
from kafka_groups.streams.state.formats import NO_TIMESTAMP, PLAIN, ValueFormat
from kafka_groups.streams.state.held import HeldUpdates
from kafka_groups.streams.state.layered import LayeredTable
from kafka_groups.streams.state.store import ChangelogRecord, StoreSurroundings
from kafka_groups.types import Header, Headers

__all__ = ["FoundValue", "StoreRows", "no_headers"]

FoundValue = tuple[Any, int]
"""A value and its timestamp, -1 in a store without timestamps."""


def no_headers() -> list[Header]:
    """Return the headers that serdes of stores are given."""
    return []


class StoreRows:
    """The rows of a store in one task. A row's key has the bytes that it has in the changelog.

    Args:
        name: The store's name.
        value: The serde of its values.
        layout: The layout of its values.
        surroundings: What it works with.
        caching: Whether operators hold updates back.
    """

    def __init__(
        self, name: str, value: Serde[Any], layout: ValueFormat, surroundings: StoreSurroundings, *, caching: bool
    ) -> None:
        self.name = name
        self.is_caching = surroundings.is_caching and caching
        self.held = HeldUpdates(surroundings.record)
        self._engine = surroundings.engine
        self._table = LayeredTable(self._engine.table(name))
        self._format = layout
        self._times: dict[bytes, int] = {}
        self._headers: dict[bytes, Headers] = {}
        self._write_value = value.serializer(surroundings.topic, is_key=False)
        self._read_value = value.deserializer(surroundings.topic, is_key=False)

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

    def value(self, stored: bytes | None) -> Any:
        """Return the value in stored bytes, or None."""
        return None if stored is None else self._read_value(self._format.split(stored)[0], ())

    def decoded(self, stored: bytes) -> FoundValue:
        """Return value and timestamp in stored bytes (-1 in a store without timestamps)."""
        value, timestamp_ms = self._format.split(stored)
        return self._read_value(value, ()), timestamp_ms

    def put(self, key: bytes, value: Any, timestamp_ms: int, headers: Headers = ()) -> None:
        """Set the value of a row. None deletes it. The changelog gets the headers."""
        stored = None if value is None else self._format.join(self._write_value(value, no_headers()), timestamp_ms)
        self._table.put(key, stored)
        self._times[key] = timestamp_ms
        if headers or self._headers:
            self._headers[key] = headers

    def forget(self, key: bytes) -> None:
        """Drop the uncommitted change of a row."""
        self._table.forget(key)
        del self._times[key]
        self._headers.pop(key, None)

    @property
    def is_changed(self) -> bool:
        """Whether there are changes since the last commit."""
        return bool(self._table.changes)

    def flush(self) -> None:
        """Forward updates that were held back."""
        self.held.flush()

    def changelog(self) -> Iterator[ChangelogRecord]:
        """Return the changes since the last commit, one for each row."""
        for key, stored in self._table.changes.items():
            yield ChangelogRecord(key, *self._logged(key, stored), self._headers.get(key, ()))

    def commit(self) -> None:
        """Move the changes into the committed state."""
        self._engine.commit({self.name: self._table.changes})
        self._table.forget_changes()
        self._times, self._headers = {}, {}

    def restore(self, record: ChangelogRecord) -> None:
        """Apply one record of the changelog to the committed state."""
        timestamp_ms = NO_TIMESTAMP if record.timestamp_ms is None else record.timestamp_ms
        stored = None if record.value is None else self._format.join(record.value, timestamp_ms)
        self._engine.commit({self.name: {record.key: stored}})

    def _logged(self, key: bytes, stored: bytes | None) -> tuple[bytes | None, int]:
        if stored is None or self._format is PLAIN:
            return stored, self._times[key]
        return self._format.split(stored)
