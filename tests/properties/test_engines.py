"""Engines, against a dictionary for each table."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.state.engine import Engine, KeyedBytes, MemoryEngine
from kafka_groups.types import TopicPartition

TABLES = st.sampled_from(["a", "a@1", "a@2", "b"])
LONG = [start * length + end for start in (b"k", b"\xff") for length in (477, 478, 510) for end in (b"", b"a", b"b")]
SHORT = st.binary(max_size=3) | st.sampled_from([b"", b"\0", b"\xff", b"k"])
KEYS = SHORT | st.sampled_from(LONG)
VALUES = st.none() | st.binary(max_size=4)
ROWS = st.dictionaries(SHORT, VALUES, max_size=80) | st.dictionaries(KEYS, VALUES, max_size=8)
POSITIONS = st.dictionaries(st.builds(TopicPartition, st.sampled_from(["t", "u"]), st.just(0)), st.integers(0, 9))
NOTES = st.dictionaries(st.sampled_from(["a#time", "a#number"]), st.binary(max_size=8))


class EngineMachine(RuleBasedStateMachine):
    """An engine and what it must have. A subclass names the engine."""

    kind: Callable[[], Engine]

    @initialize()
    def open(self) -> None:
        self.engine = self.make()
        self.tables: dict[str, dict[bytes, bytes]] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.notes: dict[str, bytes] = {}

    def make(self) -> Engine:
        return type(self).kind()

    @rule(changes=st.dictionaries(TABLES, st.none() | ROWS), positions=POSITIONS, notes=NOTES, is_load=st.booleans())
    def commit(self, changes: Any, positions: Any, notes: Any, is_load: bool) -> None:
        (self.engine.load if is_load else self.engine.commit)(changes, positions, notes)
        for name, rows in changes.items():
            table = {**self.tables.get(name, {}), **(rows or {})} if rows is not None else {}
            self.tables[name] = {key: value for key, value in table.items() if value is not None}
        self.positions.update(positions)
        self.notes.update(notes)

    @rule(name=TABLES, low=KEYS, high=st.none() | KEYS, is_reverse=st.booleans())
    def scan(self, name: str, low: bytes, high: bytes | None, is_reverse: bool) -> None:
        found = list(self.engine.table(name).scan(low, high, reverse=is_reverse))
        assert found == self._expected(name, low, high, is_reverse=is_reverse)

    @rule(name=TABLES, taken=st.integers(0, 3), changes=st.dictionaries(TABLES, st.none() | ROWS))
    def commit_under_a_scan(self, name: str, taken: int, changes: Any) -> None:
        expected = self._expected(name, b"", None)
        rows = self.engine.table(name).scan(b"", None)
        first = list(islice(rows, taken))
        self.commit(changes, {}, {}, is_load=False)
        assert [*first, *rows] == expected

    @rule(name=TABLES, key=KEYS)
    def get(self, name: str, key: bytes) -> None:
        assert self.engine.table(name).get(key) == self.tables.get(name, {}).get(key)

    @invariant()
    def all_is_there(self) -> None:
        if not hasattr(self, "tables"):
            return
        assert (self.engine.positions, self.engine.notes) == (self.positions, self.notes)
        for prefix in ("a@", "b", ""):
            expected = {name for name, rows in self.tables.items() if name.startswith(prefix) and rows}
            assert set(self.engine.tables(prefix)) == expected

    def _expected(self, name: str, low: bytes, high: bytes | None, *, is_reverse: bool = False) -> list[KeyedBytes]:
        rows = sorted(self.tables.get(name, {}).items(), reverse=is_reverse)
        return [(key, value) for key, value in rows if low <= key and (high is None or key < high)]


class MemoryMachine(EngineMachine):
    """The engine of the test driver."""

    kind = MemoryEngine


class SharedMachine(EngineMachine):
    """The engine of a worker's tasks in memory."""

    kind = SharedEngine


class LmdbMachine(EngineMachine):
    """The engine on disk, which may be opened again at any time."""

    @initialize()
    def open(self) -> None:
        self.folder = TemporaryDirectory()
        super().open()

    def make(self) -> Engine:
        return LmdbEngine(Path(self.folder.name), map_bytes=1 << 24)

    @rule()
    def open_again(self) -> None:
        self.engine.close()
        self.engine = self.make()

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()
            self.folder.cleanup()


TestMemoryEngine = MemoryMachine.TestCase
TestSharedEngine = SharedMachine.TestCase
TestLmdbEngine = LmdbMachine.TestCase
