"""Session stores, against a dictionary."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.streams import SessionStore, Windowed, stores
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.session_stores import SessionState
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from tests.support.committed_states import commit, restore

RETENTION_MS = 30
DEFINITION = stores.session("s", serdes.string, serdes.string, retention=timedelta(milliseconds=RETENTION_MS))
KEYS = st.sampled_from(["", "a", "ab", "a\0", "a" + "\0" * 20, "b"])
TIMES = st.integers(0, 90)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, TIMES, st.integers(0, 20), st.one_of(st.none(), st.sampled_from(["x", "y"]))),
        st.tuples(st.sampled_from(["commit", "abort"]), st.just(""), st.just(0), st.just(0), st.none()),
    ),
    max_size=40,
)


def opened(engine: MemoryEngine) -> SessionState:
    return SessionState(
        DEFINITION, StoreSurroundings(topic="t", engine=engine, record=RecordContext(), is_caching=False)
    )


def view(state: SessionState) -> SessionStore[str, str]:
    return SessionStore(state, RecordContext())


@given(STEPS, KEYS, TIMES, TIMES)
def test_reads_see_what_a_dictionary_has_that_has_not_expired(
    steps: list[tuple[str, str, int, int, str | None]], asked: str, earliest_end_ms: int, latest_start_ms: int
) -> None:
    engine = MemoryEngine()
    state = opened(engine)
    committed: dict[tuple[int, str, int], str] = {}
    current: dict[tuple[int, str, int], str] = {}
    newest_ms = committed_ms = -1
    for step, key, start_ms, length_ms, value in steps:
        end_ms = start_ms + length_ms
        if step == "put":
            view(state).put(key, start_ms, end_ms, value)
            newest_ms = max(newest_ms, end_ms)
            current.pop((end_ms, key, start_ms), None)
            if value is not None:
                current[end_ms, key, start_ms] = value
        elif step == "commit":
            commit(state, engine)
            committed, committed_ms = dict(current), newest_ms
        else:  # the task is opened again over what is committed
            state, current, newest_ms = opened(engine), dict(committed), committed_ms
        alive = [
            (Windowed(key, serdes.Window(start_ms, end_ms)), found)
            for (end_ms, key, start_ms), found in sorted(current.items())
            if end_ms > newest_ms - RETENTION_MS
        ]
        store = view(state)
        assert list(store.all()) == alive
        own = [(each, found) for each, found in alive if each.key == asked]
        assert list(store.fetch(asked)) == own
        assert list(store.fetch(asked, reverse=True)) == own[::-1]
        assert list(store.find_sessions(asked, earliest_end_ms, latest_start_ms)) == [
            (each, found)
            for each, found in own
            if each.window.end_ms >= earliest_end_ms and each.window.start_ms <= latest_start_ms
        ]
        for each, found in own:
            assert store.get(asked, *each.window) == found


def test_a_session_can_be_removed_and_restored_from_its_changelog() -> None:
    engine, copy = MemoryEngine(), MemoryEngine()
    state, restored = opened(engine), opened(copy)
    view(state).put("k", 1, 5, "x")
    view(state).put("j", 2, 6, "y")
    restore(restored, copy, state.changelog())
    commit(state, engine)
    assert list(view(restored).all()) == list(view(state).all())
    view(state).remove(Windowed("k", serdes.Window(1, 5)))
    assert [(record.key, record.value) for record in state.changelog()] == [
        (b"k" + bytes([0] * 7 + [5] + [0] * 7 + [1]), None)
    ]
    assert view(state).get("k", 1, 5) is None


def test_expired_sessions_count_as_dropped_when_they_are_put_and_not_when_they_are_removed() -> None:
    dropped: list[str] = []
    surroundings = StoreSurroundings(
        topic="t",
        engine=MemoryEngine(),
        record=RecordContext(),
        is_caching=False,
        dropped=lambda store, _reason: dropped.append(store),
    )
    store = view(SessionState(DEFINITION, surroundings))
    store.put("a", 10_000, 10_000, "new")
    store.remove(Windowed("a", serdes.Window(0, 0)))
    assert not dropped
    store.put("a", 0, 0, "gone")
    assert dropped == [DEFINITION.name]
