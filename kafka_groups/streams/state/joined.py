"""The partitions of a store as one, to read them."""

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_groups.errors.texts import counted
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.state.key_value import KeyValueState
from kafka_groups.streams.state.position import Position, position_of
from kafka_groups.streams.state.rows import FoundValue
from kafka_groups.streams.state.session_stores import SessionState, StoredSession
from kafka_groups.streams.state.stores import WindowDefinition
from kafka_groups.streams.state.versioned_stores import StoredVersion
from kafka_groups.streams.state.window_stores import StoredWindow, WindowState
from kafka_groups.types import TopicPartition

__all__ = ["JoinedStates"]


class JoinedStates:
    """The states of a store in several tasks, to read all of them.

    Rows come in the order that they would have in one store. If a key is in several partitions, `get` finds it in the
    first of them.

    Args:
        states: The state in each task, in the order of the partitions.
    """

    def __init__(self, states: Sequence[Any]) -> None:
        self._states = states

    def __getattr__(self, name: str) -> Any:
        # Names, serdes and layouts are the same in all tasks.
        return getattr(self._states[0], name)

    @property
    def position(self) -> Position:
        """The input offsets that were committed, of all partitions."""
        inputs: dict[TopicPartition, int] = {}
        for each in self._states:
            inputs |= each.inputs
        return position_of(inputs.items())

    def get(self, key: bytes) -> FoundValue | None:
        """Return value and timestamp of a row, or None."""
        # A key is in the partition that its partitioner chose, which is not known here, so all are asked.
        return next((found for each in self._states if (found := each.get(key)) is not None), None)

    def stored(self, key: bytes) -> bytes | None:
        """Return the bytes that the store has for a row, or None."""
        return next((found for each in self._states if (found := each.stored(key)) is not None), None)

    def version(self, key: bytes, as_of_ms: int | None = None) -> StoredVersion | None:
        """Return the version of a key that is valid at a time, or None. Without a time: the newest one."""
        return next((found for each in self._states if (found := each.version(key, as_of_ms)) is not None), None)

    def put(self, *_change: object) -> None:
        """Refuse a change.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(
            f"Store {self.name!r} has {counted(len(self._states), 'partition')}, which are read as one. "
            "Choose one with "
            "partition= to change it."
        )

    def scan(
        self, low: bytes = b"", high: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, FoundValue]]:
        """Iterate over keys with `low` <= key < `high`, each with value and timestamp. A snapshot."""
        states: Sequence[KeyValueState] = self._states
        found = [row for each in states for row in each.scan(low, high)]
        yield from sorted(found, key=lambda row: states[0].key_bytes(row[0]), reverse=reverse)

    def fetch(self, key: bytes, first_ms: int, last_ms: int, *, reverse: bool = False) -> list[StoredWindow]:
        """Return the rows of a key whose windows start from `first_ms` to `last_ms`, both included, in this order."""
        states: Sequence[WindowState] = self._states
        found = (row for each in states for row in each.fetch(key, first_ms, last_ms))
        return sorted(found, key=_start_and_row, reverse=reverse)

    def find(
        self, key: bytes, earliest_end_ms: int, latest_start_ms: int, *, reverse: bool = False
    ) -> list[StoredSession]:
        """Return a key's sessions that end and start within these times, both included, in order of their ends."""
        states: Sequence[SessionState] = self._states
        found = (row for each in states for row in each.find(key, earliest_end_ms, latest_start_ms))
        return sorted(found, key=_end_and_row, reverse=reverse)

    def all(self, *times_ms: int, reverse: bool = False) -> list[Any]:
        """Return all windows or sessions in order of time and key."""
        found = [row for each in self._states for row in each.all(*times_ms)]
        # Each state is in this order, so that the whole is in the order of one store.
        by_time = _start_and_row if isinstance(self.definition, WindowDefinition) else _end_and_row
        return sorted(found, key=by_time, reverse=reverse)


def _start_and_row(window: StoredWindow) -> tuple[int, bytes]:
    return window.start_ms, window.row


def _end_and_row(session: StoredSession) -> tuple[int, bytes]:
    return session.window.end_ms, session.row
