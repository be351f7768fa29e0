"""Versioned stores: their changelog, what they refuse, and the cost of a question."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import (
    NOT_PUT,
    VALID_TO_UNDEFINED,
    Record,
    StreamsBuilder,
    VersionedKeyValueStore,
    VersionedRecord,
    stores,
)
from kafka_groups.streams.state.engine import KeyedBytes, MemoryEngine, MemoryTable
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import VersionedDefinition
from kafka_groups.streams.state.versioned_stores import VersionedState
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.support.committed_states import commit, restore

HISTORY_MS, SEGMENT_MS = 1_000, 100
PRICES = stores.versioned(
    "prices",
    serdes.string,
    serdes.string,
    history=timedelta(milliseconds=HISTORY_MS),
    segment=timedelta(milliseconds=SEGMENT_MS),
)


class CountingTable:
    """A table that counts how often it is read, and how many pairs its scans return."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table
        self.gets = self.scans = self.pairs = 0

    def get(self, key: bytes) -> bytes | None:
        self.gets += 1
        return self._table.get(key)

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        self.scans += 1
        for pair in self._table.scan(low, high, reverse=reverse):
            self.pairs += 1
            yield pair


class CountingEngine(MemoryEngine):
    """An engine whose tables count."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: list[CountingTable] = []

    def table(self, name: str) -> Any:
        made = CountingTable(super().table(name))
        self.counted.append(made)
        return made

    def commit(self, changes: Any, positions: Any = (), notes: Any = ()) -> None:
        for name, rows in changes.items():
            if rows is None:
                self._tables.pop(name, None)
            else:
                MemoryEngine.table(self, name).apply(rows)
        self.notes.update(notes)

    def work(self, question: Callable[[], object]) -> tuple[int, int, int]:
        """Return the gets, scans and scanned pairs of a question."""
        before = self._sums()
        question()
        gets, scans, pairs = (now - then for now, then in zip(self._sums(), before, strict=True))
        return gets, scans, pairs

    def _sums(self) -> list[int]:
        return [sum(getattr(each, name) for each in self.counted) for name in ("gets", "scans", "pairs")]


def opened(engine: MemoryEngine, dropped: list[str] | None = None) -> VersionedState:
    surroundings = StoreSurroundings(
        topic="t",
        engine=engine,
        record=RecordContext(),
        is_caching=True,
        dropped=lambda store, _reason: None if dropped is None else dropped.append(store),
    )
    return VersionedState(PRICES, surroundings)


def view(state: VersionedState) -> VersionedKeyValueStore[str, str]:
    return VersionedKeyValueStore(state)


def filled(engine: MemoryEngine, versions: int) -> VersionedKeyValueStore[str, str]:
    """Return a store whose key has versions at equal distances over the history."""
    state = opened(engine)
    for number in range(versions):
        view(state).put("k", str(number), 5_000 + number * HISTORY_MS // versions)
    commit(state, engine)
    return view(state)


def test_put_returns_the_end_of_validity() -> None:
    store = view(opened(MemoryEngine()))
    assert store.put("k", "b", 2_000) == VALID_TO_UNDEFINED == -1
    assert store.put("k", "a", 1_000) == 2_000
    assert store.put("k", "too late", 999) == NOT_PUT == -(2**63)
    assert store.get("k", 1_500) == VersionedRecord("a", 1_000, 2_000)
    assert store.get("k") == VersionedRecord("b", 2_000, None)
    assert store.delete("k", 1_500) == VersionedRecord("a", 1_000, 2_000)
    assert store.get("k", 1_499) == VersionedRecord("a", 1_000, 1_500)
    assert store.get("k", 1_500) is None


def test_a_deletion_before_the_history_deletes_nothing() -> None:
    store = view(opened(MemoryEngine()))
    store.put("k", "old", 10)
    store.put("other", "new", 2_000)
    assert store.delete("k", 999) is None
    assert store.get("k") == VersionedRecord("old", 10, None)
    assert store.delete("k", 1_000) == VersionedRecord("old", 10, None)


def test_ended_versions_are_not_told_for_times_before_the_history() -> None:
    store = view(opened(MemoryEngine()))
    store.put("k", "old", 10)
    store.put("j", "still valid", 10)
    store.put("k", "next", 1_500)
    store.put("other", "new", 2_000)
    assert store.get("k", 1_000) == VersionedRecord("old", 10, 1_500)
    assert store.get("k", 999) is None
    assert store.get("j", 999) == store.get("j") == VersionedRecord("still valid", 10, None)
    assert store.get("j", 9) is None


def test_the_changelog_has_each_version_once_and_in_order_of_time() -> None:
    state = opened(MemoryEngine())
    for value, time_ms in [("c", 3_000), ("x", 2_500), ("b", 2_500), (None, 2_000), ("refused", 1_999)]:
        view(state).put("k", value, time_ms)
    view(state).put("j", "a", 2_700)
    assert list(state.changelog()) == [
        ChangelogRecord(b"k", None, 2_000),
        ChangelogRecord(b"k", b"b", 2_500),
        ChangelogRecord(b"j", b"a", 2_700),
        ChangelogRecord(b"k", b"c", 3_000),
    ]


def test_a_restored_store_refuses_what_java_has_logged_and_not_put() -> None:
    engine = MemoryEngine()
    restore(opened(engine), engine, [ChangelogRecord(b"k", b"a", 3_000), ChangelogRecord(b"j", b"refused", 1_999)])
    assert view(opened(engine)).get("j") is None
    assert view(opened(engine)).get("k") == VersionedRecord("a", 3_000, None)


def test_refused_versions_count_as_dropped() -> None:
    dropped: list[str] = []
    store = view(opened(MemoryEngine(), dropped))
    store.put("k", "new", 5_000)
    store.put("k", "at the end of the history", 4_000)
    assert not dropped
    store.put("k", "before", 3_999)
    assert dropped == [PRICES.name]


@pytest.mark.parametrize("versions", [10, 1_000])
def test_the_newest_version_is_one_read_and_an_older_one_a_row_of_each_segment(versions: int) -> None:
    engine = CountingEngine()
    store = filled(engine, versions)
    assert engine.work(lambda: store.get("k")) == (1, 0, 0)
    gets, scans, pairs = engine.work(lambda: store.get("k", 5_000 + HISTORY_MS // 2))
    assert gets == 1
    assert scans <= HISTORY_MS // SEGMENT_MS + 1
    assert pairs <= scans


def test_versions_in_order_of_time_are_put_without_a_scan() -> None:
    engine = CountingEngine()
    store = filled(engine, 10)

    def put() -> None:
        store.put("k", "next", 7_000)
        store.put("k", None, 7_001)
        store.put("other", "first", 7_002)
        store.put("k", "again", 7_003)

    assert engine.work(put)[1:] == (0, 0)


def test_what_has_expired_is_dropped_by_segments() -> None:
    engine = MemoryEngine()
    store = filled(engine, 1_000)
    state = store._state
    assert len(engine.tables("prices@")) == 10
    store.put("other", "later", 5_550 + HISTORY_MS)
    commit(state, engine)
    assert sorted(engine.tables("prices@")) == [f"prices@{number}" for number in range(55, 60)]
    assert store.get("k", 5_550) == VersionedRecord("550", 5_550, 5_551)
    store.put("k", "much later", 5_000 + 3 * HISTORY_MS)
    changes = state.changes()
    assert [name for name, rows in changes.items() if rows is None] == [f"prices@{number}" for number in range(55, 60)]
    engine.commit(changes, notes=state.notes())
    state.committed()
    # The version before the newest one ended when the newest began, and can still be asked for.
    assert engine.tables("prices@") == ["prices@80"]
    assert store.get("k", 7_500) == VersionedRecord("999", 5_999, 8_000)


def test_changes_count_until_they_are_committed_and_once_each_after_a_recount() -> None:
    engine = MemoryEngine()
    state = opened(engine)
    for _ in range(3):
        view(state).put("k", "value", 5)
    counted = state.uncommitted_bytes
    state.recount()
    assert 0 < 3 * state.uncommitted_bytes == counted
    commit(state, engine)
    assert state.uncommitted_bytes == 0
    assert not state.is_changed


def test_negative_times_are_refused() -> None:
    store = view(opened(MemoryEngine()))
    for call in (lambda: store.put("k", "v", -1), lambda: store.delete("k", -1)):
        with pytest.raises(ConfigurationError, match=r"timestamp_ms=-1 is negative|as_of_ms=-1 is negative"):
            call()
    with pytest.raises(ConfigurationError, match=r"as_of_ms=-5 is negative. Give a time in ms since 1970"):
        store.get("k", -5)


def test_changelogs_are_not_compacted_within_the_history() -> None:
    assert PRICES.changelog_defaults() == {"cleanup.policy": "compact", "min.compaction.lag.ms": "86401000"}
    longest: VersionedDefinition[str, str] = stores.versioned(
        "v", serdes.string, serdes.string, history=timedelta(days=999_999_999)
    )
    assert int(longest.changelog_defaults()["min.compaction.lag.ms"]) == 1_000_000_000 * 86_400_000


def test_processors_and_drivers_see_a_versioned_store() -> None:
    def keep(record: Record[str, str], store: VersionedKeyValueStore[str, str]) -> Iterator[Record[str, str]]:
        before = store.get(record.key, record.timestamp_ms)
        ends_ms = store.put(record.key, record.value, record.timestamp_ms)
        yield record.with_value(f"{None if before is None else before.value} {ends_ms}")

    builder = StreamsBuilder()
    text = serdes.string
    builder.stream("in", key=text, value=text).process(keep, stores=[PRICES]).to("out", key=text, value=text)
    with TopologyTestDriver(builder.build()) as driver:
        prices, out = driver.input_topic("in", text, text), driver.output_topic("out", text, text)
        for value, time_ms in [("a", 1_000), ("c", 3_000), ("b", 2_000)]:
            prices.pipe("k", value, timestamp_ms=time_ms)
        assert [each.value for each in out.read_all()] == ["None -1", "a -1", "a 3000"]
        assert driver.store(PRICES).get("k", 2_500) == VersionedRecord("b", 2_000, 3_000)
        driver.restart()
        assert driver.store(PRICES).get("k", 2_500) == VersionedRecord("b", 2_000, 3_000)


@pytest.mark.parametrize("versions", [10, 1_000])
def test_a_table_in_memory_is_not_copied_for_a_question_or_a_late_version(versions: int) -> None:
    walk, read = MemoryTable.walk, 0

    def counted(self: MemoryTable, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        nonlocal read
        for pair in walk(self, low, high, reverse=reverse):
            read += 1
            yield pair

    with patch.object(MemoryTable, "walk", counted), patch.object(MemoryTable, "scan", side_effect=AssertionError):
        store = filled(MemoryEngine(), versions)
        middle_ms = 5_000 + HISTORY_MS // 2
        found = store.get("k", middle_ms)
        assert found is not None
        assert read <= HISTORY_MS // SEGMENT_MS + 1
        read = 0
        assert store.put("k", "late", middle_ms) == found.valid_to_ms
        assert read <= 2 * (HISTORY_MS // SEGMENT_MS + 1)
