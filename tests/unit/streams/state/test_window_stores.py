"""Window stores, against a dictionary."""

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.streams import Windowed, WindowStore, stores
from kafka_groups.streams.state import segments
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings
from kafka_groups.streams.state.window_stores import WindowState
from tests.support.committed_states import commit, restore

RETENTION_MS = 30
PLAIN = stores.window(
    "w", serdes.string, serdes.string, size=timedelta(milliseconds=10), retention=timedelta(milliseconds=RETENTION_MS)
)
DUPLICATES = stores.window(
    "w",
    serdes.string,
    serdes.string,
    size=timedelta(milliseconds=10),
    retention=timedelta(milliseconds=RETENTION_MS),
    retain_duplicates=True,
)
SEGMENT_MS = RETENTION_MS // 2
"""Short ones, so that rows of a few milliseconds are in several, and some expire within one that lasts."""
KEYS = st.sampled_from(["", "a", "ab", "a\0", "a\0\0\0\0\0\0\0\0\0\0\0\0", "b"])
TIMES = st.integers(0, 90)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, TIMES, st.one_of(st.none(), st.sampled_from(["x", "y"]))),
        st.tuples(st.sampled_from(["commit", "abort"]), st.just(""), st.just(0), st.none()),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True)
def short_segments() -> Iterator[None]:
    with patch.object(segments, "SHORTEST_MS", SEGMENT_MS):
        yield


def opened(engine: MemoryEngine, definition: stores.WindowDefinition[str, str]) -> WindowState:
    record = RecordContext()
    return WindowState(definition, StoreSurroundings(topic="t", engine=engine, record=record, is_caching=False))


def view(state: WindowState) -> WindowStore[str, str]:
    return WindowStore(state, RecordContext())


def windowed(key: str, start_ms: int) -> Windowed[str]:
    return Windowed(key, serdes.Window(start_ms, start_ms + 10))


@given(STEPS, KEYS, TIMES, TIMES)
def test_reads_see_what_a_dictionary_has_that_has_not_expired(
    steps: list[tuple[str, str, int, str | None]], asked: str, first_ms: int, last_ms: int
) -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    committed: dict[tuple[int, str], str] = {}
    current: dict[tuple[int, str], str] = {}
    newest_ms = committed_ms = -1
    for step, key, start_ms, value in steps:
        if step == "put":
            view(state).put(key, value, start_ms)
            newest_ms = max(newest_ms, start_ms)
            current.pop((start_ms, key), None)
            if value is not None:
                current[start_ms, key] = value
        elif step == "commit":
            list(state.changelog())
            commit(state, engine)
            committed, committed_ms = dict(current), newest_ms
        else:  # the task is opened again over what is committed
            state, current, newest_ms = opened(engine, PLAIN), dict(committed), committed_ms
        alive = sorted((*each, found) for each, found in current.items() if each[0] > newest_ms - RETENTION_MS)
        store = view(state)
        own = [(start_ms, found) for start_ms, key, found in alive if key == asked and first_ms <= start_ms <= last_ms]
        assert list(store.fetch(asked, first_ms, last_ms)) == own
        assert list(store.fetch(asked, first_ms, last_ms, reverse=True)) == own[::-1]
        every = [(windowed(key, start_ms), found) for start_ms, key, found in alive]
        assert list(store.all()) == every
        assert list(store.all(reverse=True)) == every[::-1]
        some = [(each, found) for each, found in every if first_ms <= each.window.start_ms <= last_ms]
        assert list(store.fetch_all(first_ms, last_ms)) == some
        assert list(store.fetch_range("a", "ab", first_ms, last_ms)) == [
            pair for pair in some if "a" <= pair[0].key <= "ab"
        ]
        assert store.get(asked, first_ms) == {(key, start_ms): found for start_ms, key, found in alive}.get(
            (asked, first_ms)
        )


@given(STEPS)
def test_a_changelog_restores_the_store(steps: list[tuple[str, str, int, str | None]]) -> None:
    for definition in (PLAIN, DUPLICATES):
        engine, copy = MemoryEngine(), MemoryEngine()
        state, restored = opened(engine, definition), opened(copy, definition)
        for _, key, start_ms, value in steps:
            view(state).put(key, value, start_ms)
            restore(restored, copy, state.changelog())
            commit(state, engine)
        assert list(view(restored).all()) == list(view(state).all())


def test_a_store_may_keep_duplicates_in_the_order_of_their_puts() -> None:
    engine = MemoryEngine()
    state = opened(engine, DUPLICATES)
    store = view(state)
    for value in ("x", None, "y", "x"):
        store.put("k", value, 5)
    assert list(store.fetch("k", 5, 5)) == [(5, "x"), (5, "y"), (5, "x")]
    assert [record.key[-4:] for record in state.changelog()] == [bytes([0, 0, 0, n]) for n in (1, 2, 3, 4)]
    commit(state, engine)
    store.put("k", "z", 5)
    assert list(store.fetch("k", 0, 9)) == [(5, "x"), (5, "y"), (5, "x"), (5, "z")]
    again = opened(engine, DUPLICATES)  # a number that is used twice would replace a row
    view(again).put("k", "w", 5)
    assert list(view(again).fetch("k", 0, 9)) == [(5, "x"), (5, "y"), (5, "x"), (5, "w")]


def test_what_has_expired_leaves_the_engine_at_a_commit_without_changelog_records() -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    view(state).put("k", "old", 0)
    commit(state, engine)
    view(state).put("k", "new", RETENTION_MS + SEGMENT_MS)
    assert [record.value for record in state.changelog()] == [b"new"]
    commit(state, engine)
    (table,) = engine.tables("w@")
    assert [value for _, value in engine.table(table).scan(b"", None)] == [b"new"]


def test_restoration_leaves_out_what_has_expired() -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    starts_ms = 0, 10, 10 + RETENTION_MS + SEGMENT_MS
    restore(state, engine, [ChangelogRecord(state.row(b"k", start_ms), b"x", 0) for start_ms in starts_ms])
    assert [each.start_ms for each in state.started(0, 1000)] == [starts_ms[-1]]
    assert len(engine.tables("w@")) == 1


def test_restoration_leaves_out_what_has_expired_in_a_segment_that_lasts() -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    restore(state, engine, [ChangelogRecord(state.row(b"k", start_ms), b"x", 0) for start_ms in (9, 11, 40)])
    assert [each.start_ms for each in state.started(0, 1000)] == [11, 40]


def test_rows_that_have_expired_when_they_are_put_count_as_dropped() -> None:
    dropped: list[tuple[str, str]] = []
    surroundings = StoreSurroundings(
        topic="t",
        engine=MemoryEngine(),
        record=RecordContext(),
        is_caching=False,
        dropped=lambda store, reason: dropped.append((store, reason)),
    )
    store = view(WindowState(PLAIN, surroundings))
    newest_ms = 10_000
    oldest_ms = newest_ms - PLAIN.retention_ms + 1
    store.put("a", "new", newest_ms)
    store.put("a", "kept", oldest_ms)
    assert not dropped
    store.put("a", "gone", oldest_ms - 1)
    store.put("a", None, 0)
    store.put("a", "kept", newest_ms + 1)
    store.put("a", "expired since", oldest_ms)
    store.put("a", "expired since", oldest_ms)
    assert dropped == 4 * [(PLAIN.name, "its row in the store has expired")]
    assert [value for _, value in store.fetch("a", 0, newest_ms + 1)] == ["new", "kept"]


@pytest.mark.parametrize("starts_ms", [(40,), (40, 44), (40, 60, 41), (44, 40, 29, 61), (40, 41, 5)])
def test_a_commit_moves_each_row_into_the_segment_of_its_time(starts_ms: tuple[int, ...]) -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    for is_second in (False, True):
        for start_ms in starts_ms:
            view(state).put("k", f"{start_ms} {is_second}", start_ms)
            view(state).put("k", f"{start_ms} again {is_second}", start_ms)
        commit(state, engine)
    kept = {start_ms for start_ms in starts_ms if start_ms > max(starts_ms) - RETENTION_MS - SEGMENT_MS}
    tables = {int(name.removeprefix("w@")): engine.table(name) for name in engine.tables("w@")}
    assert {at: {row for row, _ in table.scan(b"", None)} for at, table in tables.items()} == {
        at: {state.row(b"k", each) for each in kept if each // SEGMENT_MS == at} for at in tables
    }
    assert {each // SEGMENT_MS for each in kept} >= tables.keys()
    again = view(opened(engine, PLAIN))
    expired_ms = max(starts_ms) - RETENTION_MS
    assert list(again.fetch("k", 0, 100)) == [(at, f"{at} again True") for at in sorted(starts_ms) if at > expired_ms]


def test_rows_that_are_put_again_after_a_commit_are_found_when_they_close() -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    for value in ("x", "y"):
        view(state).put("k", value, 20)
        assert [each.stored for each in state.started(0, 100)] == [value.encode()]
        state.remove(state.row(b"k", 20), 20)
        assert list(state.started(0, 100)) == []
        view(state).put("k", value, 20)
        assert [each.stored for each in state.started(0, 100)] == [value.encode()]
        commit(state, engine)
