"""Window stores, against a dictionary."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.streams import Windowed, WindowStore, stores
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.store import ChangelogRecord, RecordContext, StoreSurroundings
from kafka_groups.streams.state.windows import WindowState

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
KEYS = st.sampled_from(["", "a", "ab", "a\0", "a\0\0\0\0\0\0\0\0\0\0\0\0", "b"])
TIMES = st.integers(0, 90)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, TIMES, st.one_of(st.none(), st.sampled_from(["x", "y"]))),
        st.tuples(st.sampled_from(["commit", "abort"]), st.just(""), st.just(0), st.none()),
    ),
    max_size=40,
)


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
    newest_ms = -1
    for step, key, start_ms, value in steps:
        if step == "put":
            view(state).put(key, value, start_ms)
            newest_ms = max(newest_ms, start_ms)
            current.pop((start_ms, key), None)
            if value is not None:
                current[start_ms, key] = value
        elif step == "commit":
            list(state.changelog())
            state.commit()
            current = {each: value for each, value in current.items() if each[0] >= newest_ms - RETENTION_MS}
            committed = dict(current)
        else:  # the task is opened again over what is committed
            state, current = opened(engine, PLAIN), dict(committed)
            newest_ms = max((start_ms for start_ms, _ in committed), default=-1)
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
        state, restored = opened(MemoryEngine(), definition), opened(MemoryEngine(), definition)
        for _, key, start_ms, value in steps:
            view(state).put(key, value, start_ms)
            for record in state.changelog():
                restored.restore(record)
            state.commit()
        assert list(view(restored).all()) == list(view(state).all())


def test_a_store_may_keep_duplicates_in_the_order_of_their_puts() -> None:
    state = opened(MemoryEngine(), DUPLICATES)
    store = view(state)
    for value in ("x", None, "y", "x"):
        store.put("k", value, 5)
    assert list(store.fetch("k", 5, 5)) == [(5, "x"), (5, "y"), (5, "x")]
    assert [record.key[-4:] for record in state.changelog()] == [bytes([0, 0, 0, n]) for n in (1, 2, 3, 4)]
    state.commit()
    store.put("k", "z", 5)
    assert list(store.fetch("k", 0, 9)) == [(5, "x"), (5, "y"), (5, "x"), (5, "z")]


def test_what_has_expired_leaves_the_engine_at_a_commit_without_changelog_records() -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    view(state).put("k", "old", 0)
    state.commit()
    view(state).put("k", "new", RETENTION_MS + 1)
    assert [record.value for record in state.changelog()] == [b"new"]
    state.commit()
    assert [value for _, value in engine.table("w").scan(b"", None)] == [b"new"]


def test_restoration_leaves_out_what_has_expired() -> None:
    engine = MemoryEngine()
    state = opened(engine, PLAIN)
    for start_ms in (0, 10, 10 + RETENTION_MS + 1):
        row = state.row(b"k", start_ms)
        state.restore(ChangelogRecord(row, b"x", 0))
    assert [each.start_ms for each in state.started(0, 1000)] == [10 + RETENTION_MS + 1]
    assert len(engine.table("w")) == 1
