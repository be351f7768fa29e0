"""Key-value stores, with and without timestamps, against a sorted dictionary.

Changes lie over the committed rows until a commit. A store that is opened again over the same engine has lost them, and
one that is restored from the changelog has what was committed.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.key_value import KeyValueState, KeyValueStore, TimestampedKeyValueStore
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings
from tests.support.committed_states import commit, restore

NO_TIMESTAMP = -1
LETTERS = st.sampled_from([b"a", b"b", b"\x00", b"\xff"])
KEYS = st.lists(LETTERS, max_size=3).map(b"".join)
BOUNDS = st.none() | KEYS
VALUES = st.integers(0, 5)
TIMES = st.integers(0, 10)

Rows = dict[bytes, tuple[int, int]]


def opened(engine: MemoryEngine, record: RecordContext, *, timestamped: bool) -> KeyValueState:
    define: Any = stores.timestamped_key_value if timestamped else stores.key_value
    definition = define("counts", serdes.bytes_, serdes.int64)
    return KeyValueState(definition, StoreSurroundings(topic="t", engine=engine, record=record, is_caching=False))


class PlainStore(RuleBasedStateMachine):
    """A store whose values have no timestamps."""

    timestamped = False

    @initialize()
    def open_it(self) -> None:
        self.record, self.engine, self.copy = RecordContext(), MemoryEngine(), MemoryEngine()
        self.committed: Rows = {}
        self.times: dict[bytes, int] = {}
        self._open()

    def _open(self) -> None:
        self.state = opened(self.engine, self.record, timestamped=self.timestamped)
        self.store: KeyValueStore[bytes, int] = KeyValueStore(self.state, self.record)
        self.rows: Rows = dict(self.committed)
        self.times.clear()

    def _put(self, key: bytes, value: int | None, time: int) -> None:
        self.record.timestamp_ms = time
        self.times[key] = time
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = (value, time if self.timestamped else NO_TIMESTAMP)

    def _value(self, key: bytes) -> int | None:
        return self.rows[key][0] if key in self.rows else None

    def _between(self, low: bytes, high: bytes | None) -> list[tuple[bytes, int]]:
        found = sorted(key for key in self.rows if low <= key and (high is None or key <= high))
        return [(key, self.rows[key][0]) for key in found]

    @rule(key=KEYS, value=st.none() | VALUES, time=TIMES)
    def put(self, key: bytes, value: int | None, time: int) -> None:
        self._put(key, value, time)
        self.store.put(key, value)

    @rule(key=KEYS, value=VALUES, time=TIMES)
    def put_if_absent(self, key: bytes, value: int, time: int) -> None:
        before = self._value(key)
        if before is None:
            self._put(key, value, time)
        assert self.store.put_if_absent(key, value) == before

    @rule(pairs=st.lists(st.tuples(KEYS, st.none() | VALUES), max_size=4), time=TIMES)
    def put_all(self, pairs: list[tuple[bytes, int | None]], time: int) -> None:
        for key, value in pairs:
            self._put(key, value, time)
        self.store.put_all(pairs)

    @rule(key=KEYS, time=TIMES)
    def delete(self, key: bytes, time: int) -> None:
        before = self._value(key)
        self._put(key, None, time)
        assert self.store.delete(key) == before

    @rule(low=BOUNDS, high=BOUNDS, reverse=st.booleans())
    def read_a_range(self, low: bytes | None, high: bytes | None, reverse: bool) -> None:
        expected = self._between(low or b"", high)
        found = list(self.store.range(low, high, reverse=reverse))
        assert found == (expected[::-1] if reverse else expected)

    @rule(prefix=KEYS)
    def read_a_prefix(self, prefix: bytes) -> None:
        expected = [(key, value) for key, value in self._between(b"", None) if key.startswith(prefix)]
        assert list(self.store.prefix(prefix)) == expected

    @rule(taken=st.integers(0, 2), key=KEYS, value=st.none() | VALUES)
    def change_rows_under_an_iterator(self, taken: int, key: bytes, value: int | None) -> None:
        expected = self._between(b"", None)
        iterator = self.store.all()
        first = list(islice(iterator, taken))
        self.put(key, value, 3)
        assert [*first, *iterator] == expected

    @rule()
    def commit(self) -> None:
        changes = list(self.state.changelog())
        assert sorted(changes) == sorted(self._changelog())
        restored = opened(self.copy, self.record, timestamped=self.timestamped)
        restore(restored, self.copy, changes)
        commit(self.state, self.engine)
        assert not self.state.is_changed
        self.committed = dict(self.rows)
        self.times.clear()
        assert list(restored.scan()) == sorted(self.committed.items())

    def _changelog(self) -> Iterator[ChangelogRecord]:
        for key, time in self.times.items():
            value = self._value(key)
            yield ChangelogRecord(key, None if value is None else value.to_bytes(8, "big"), time)

    @rule()
    def open_it_again(self) -> None:
        self._open()

    @invariant()
    def every_row_is_there(self) -> None:
        if hasattr(self, "rows"):
            assert dict(self.state.scan()) == self.rows
            assert list(self.store.all(reverse=True)) == self._between(b"", None)[::-1]
            assert all(self.store.get(key) == value for key, (value, _) in self.rows.items())
            assert self.state.is_changed == bool(self.times)


class TimestampedStore(PlainStore):
    """A store that keeps the timestamp of each value."""

    timestamped = True

    def _open(self) -> None:
        super()._open()
        self.timed: TimestampedKeyValueStore[bytes, int] = TimestampedKeyValueStore(self.state)

    @rule(key=KEYS, value=st.none() | VALUES, time=TIMES)
    def put_with_a_time(self, key: bytes, value: int | None, time: int) -> None:
        self._put(key, value, time)
        self.timed.put(key, value, time)
        assert self.timed.get(key) == self.rows.get(key)

    @rule(key=KEYS, time=TIMES)
    def delete_with_a_time(self, key: bytes, time: int) -> None:
        before = self.rows.get(key)
        self._put(key, None, time)
        assert self.timed.delete(key, time) == before

    @rule(reverse=st.booleans())
    def read_all_with_times(self, reverse: bool) -> None:
        assert list(self.timed.all(reverse=reverse)) == sorted(self.rows.items(), reverse=reverse)


for _machine in (PlainStore, TimestampedStore):
    _machine.TestCase.settings = settings(stateful_step_count=30, suppress_health_check=[HealthCheck.too_slow])
TestPlainStore = PlainStore.TestCase
TestTimestampedStore = TimestampedStore.TestCase
