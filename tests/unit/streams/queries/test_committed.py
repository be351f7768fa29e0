"""Queries of a store in several tasks see it as one, in the order of its keys and times."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams import StreamsError, stores
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.state.opening import open_state
from kafka_groups.streams.state.store import RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.context import open_view
from kafka_groups.streams.topology.node_graph import StorePlace

TEXT = serdes.string
ROWS = stores.key_value("rows", TEXT, TEXT)
WINDOWS = stores.window("windows", TEXT, TEXT, size=timedelta(milliseconds=10), retention=timedelta(minutes=1))
SESSIONS = stores.session("sessions", TEXT, TEXT, retention=timedelta(minutes=1))


def filled(definition: StoreDefinition, *fills: Callable[[Any], object]) -> Any:
    """Return the view of a store that has a task for each of the functions, which fill it."""
    engines = []
    for fill in fills:
        engine, record = SharedEngine(), RecordContext()
        state = open_state(definition, StoreSurroundings(topic="t", engine=engine, record=record, is_caching=False))
        fill(open_view(state, record))
        state.commit()
        engines.append(engine)
    return committed_view(StorePlace(definition=definition), "app", engines)


def test_keys_of_all_tasks_come_in_order() -> None:
    rows = filled(ROWS, lambda one: one.put_all([("a", "1"), ("c", "3")]), lambda two: two.put_all([("b", "2")]))
    assert list(rows.all()) == [("a", "1"), ("b", "2"), ("c", "3")]
    assert list(rows.range("b", reverse=True)) == [("c", "3"), ("b", "2")]
    assert [rows.get(key) for key in "abcd"] == ["1", "2", "3", None]
    with pytest.raises(StreamsError, match="cannot be changed from outside"):
        rows.put("a", "x")


def test_windows_of_all_tasks_come_in_order() -> None:
    def one(store: Any) -> None:
        for start_ms in (0, 20):
            store.put("a", "1", start_ms)

    windows = filled(WINDOWS, one, lambda two: two.put("b", "2", 10))
    starts = [(each.key, each.window.start_ms) for each, _ in windows.all()]
    assert starts == [("a", 0), ("b", 10), ("a", 20)]
    assert (windows.get("b", 10), windows.get("a", 10)) == ("2", None)


def test_a_session_is_found_whichever_task_has_it() -> None:
    sessions = filled(SESSIONS, lambda one: one.put("a", 0, 30, "1"), lambda two: two.put("b", 5, 20, "2"))
    assert [each for each, _ in sessions.all()] == [Windowed("b", Window(5, 20)), Windowed("a", Window(0, 30))]
    assert [sessions.get("a", 0, 30), sessions.get("b", 5, 20), sessions.get("b", 0, 30)] == ["1", "2", None]
