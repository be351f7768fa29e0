"""Queries of a store in several tasks see it as one, in the order of its keys and times."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.records.partitioning import partition_of
from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams import (
    InvalidStateStoreError,
    Position,
    StateStoreMigratedError,
    StoreNotAvailableError,
    StreamsError,
    UserEndpoint,
    stores,
)
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer, answers
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.queries.paged_rows import PAGE_ROWS
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.position import input_notes
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.types import TaskId, TopicPartition
from tests.unit.streams.queries.views import ROWS, SESSIONS, TEXT, VERSIONS, WINDOWS, filled, filled_engine, view_of


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


def test_versions_are_found_whichever_task_has_them() -> None:
    def one(store: Any) -> None:
        for value, time_ms in [("1", 10), ("2", 20)]:
            store.put("a", value, time_ms)

    versions = filled(VERSIONS, one, lambda two: two.put("b", "3", 5))
    assert [versions.get("a"), versions.get("a", 15)] == [("2", 20, None), ("1", 10, 20)]
    assert [versions.get("b", 15), versions.get("b", 4), versions.get("c")] == [("3", 5, None), None, None]
    with pytest.raises(StreamsError, match="cannot be changed from outside"):
        versions.put("a", "x", 30)
    with pytest.raises(StreamsError, match="cannot be changed from outside"):
        versions.delete("a", 30)


@pytest.mark.parametrize(
    ("definition", "fill", "ask"),
    [
        (VERSIONS, lambda versions: versions.put("a", "1", 0), lambda versions: versions.get("a", 0)),
        (ROWS, lambda rows: rows.put("a", "1"), lambda rows: rows.get("a")),
        (ROWS, lambda rows: rows.put("a", "1"), lambda rows: list(rows.all())),
        (WINDOWS, lambda windows: windows.put("a", "1", 0), lambda windows: windows.get("a", 0)),
        (WINDOWS, lambda windows: windows.put("a", "1", 0), lambda windows: list(windows.fetch("a", 0, 10))),
        (SESSIONS, lambda sessions: sessions.put("a", 0, 30, "1"), lambda sessions: list(sessions.all())),
    ],
)
def test_a_view_whose_task_has_gone_raises_an_error(
    definition: StoreDefinition, fill: Callable[[Any], object], ask: Callable[[Any], object]
) -> None:
    engines: list[SharedEngine] = []
    view = filled(definition, fill, lambda _: None, engines=engines)
    assert ask(view)
    engines[1].close()
    name = definition.name
    with pytest.raises(
        InvalidStateStoreError, match=rf"^Store '{name}' is not here any more: .* Ask app.store again\.$"
    ):
        ask(view)


def test_an_iteration_that_has_begun_goes_on_with_what_it_has_read() -> None:
    engines: list[SharedEngine] = []
    rows = filled(ROWS, lambda one: one.put_all([("a", "1"), ("c", "3")]), engines=engines)
    iteration = iter(rows.all())
    assert next(iteration) == ("a", "1")
    engines[0].close()
    assert list(iteration) == [("c", "3")]


@pytest.mark.parametrize("definition", [ROWS, WINDOWS, SESSIONS], ids=lambda each: str(each.name))
def test_a_view_reads_the_tasks_that_come_later(definition: StoreDefinition) -> None:
    engines: list[SharedEngine] = []
    times = () if definition is ROWS else (0, 30) if definition is SESSIONS else (0,)

    def put(key: str) -> Callable[[Any], object]:
        return lambda store: store.put(key, *times, "1") if definition is SESSIONS else store.put(key, "1", *times)

    def keys() -> list[str]:
        return [key.key if isinstance(key, Windowed) else key for key, _ in view.all()]

    view = filled(definition, put("a"), engines=engines)
    assert keys() == ["a"]
    engines.append(filled_engine(definition, put("b")))
    assert keys() == ["a", "b"]
    gone = engines.pop()
    gone.close()
    with pytest.raises(InvalidStateStoreError, match="one of the tasks that this view reads has moved"):
        keys()


def test_a_view_without_tasks_raises_an_error() -> None:
    with pytest.raises(StoreNotAvailableError, match=r"No task of this process has store 'rows' now\. Ask app\.store"):
        filled(ROWS)


def test_a_view_of_one_partition_reads_no_other() -> None:
    engines = [filled_engine(ROWS, lambda rows, at=at: rows.put("a", str(at))) for at in range(3)]  # type: ignore[misc]
    assert [view_of(ROWS, engines, partition=at).get("a") for at in range(3)] == ["0", "1", "2"]
    with pytest.raises(StoreNotAvailableError):
        view_of(ROWS, engines, partition=3)


@pytest.mark.parametrize("status", [EngineStatus.STANDBY, EngineStatus.RESTORING])
def test_copies_are_read_if_stale_answers_are_allowed(status: EngineStatus) -> None:
    engine = filled_engine(ROWS, lambda rows: rows.put("a", "1"))
    engine.set_status(status)
    with pytest.raises(InvalidStateStoreError):
        view_of(ROWS, [engine])
    assert view_of(ROWS, [engine], allows_stale=True).get("a") == "1"


def test_more_rows_than_a_page_come_in_order_and_once() -> None:
    keys = [f"{number:05}" for number in range(3 * PAGE_ROWS + 7)]
    halves = [filled_engine(ROWS, lambda rows, half=half: rows.put_all([(key, "x") for key in half]))  # type: ignore[misc]
              for half in (keys[::2], keys[1::2])]  # fmt: skip
    view = view_of(ROWS, halves)
    assert [key for key, _ in view.all()] == keys
    assert [key for key, _ in view.all(reverse=True)] == keys[::-1]
    low, high = keys[5], keys[-5]
    assert [key for key, _ in view.range(low, high)] == keys[5:-4]
    assert [key for key, _ in view.range(low, high, reverse=True)] == keys[5:-4][::-1]
    assert [key for key, _ in view.prefix(b"01")] == [key for key in keys if key.startswith("01")]


def test_a_page_whose_task_has_gone_is_not_left_out() -> None:
    engines = [filled_engine(ROWS, lambda rows: rows.put_all([(f"{at:05}", "x") for at in range(2 * PAGE_ROWS)]))]
    rows = view_of(ROWS, engines).all()
    next(rows)
    engines[0].close()
    with pytest.raises(StateStoreMigratedError):
        list(rows)


def test_threads_that_ask_a_view_at_once_see_all_tasks() -> None:
    engines: list[SharedEngine] = []
    rows = filled(ROWS, lambda one: one.put("a", "1"), engines=engines)
    with ThreadPoolExecutor(4) as threads:
        for at in range(20):
            engines.append(filled_engine(ROWS, lambda other, at=at: other.put(f"b{at:02}", "1")))  # type: ignore[misc]
            seen = [len(list(each.result())) for each in [threads.submit(rows.all) for _ in range(4)]]
            assert seen == 4 * [at + 2]


THERE = UserEndpoint(host="there", port=7001)
HERE = next(key for key in "abcdef" if partition_of(key.encode(), 2) == 0)
"""A key of the first of two partitions, which is here, and one of the other, which is elsewhere."""
ELSEWHERE = next(key for key in "abcdef" if partition_of(key.encode(), 2) == 1)

OF_A_KEY = [
    pytest.param(ROWS, lambda rows, key: rows.get(key), id="get"),
    pytest.param(WINDOWS, lambda windows, key: windows.get(key, 0), id="window get"),
    pytest.param(WINDOWS, lambda windows, key: next(windows.fetch(key, 0, 10), None), id="window fetch"),
    pytest.param(VERSIONS, lambda versions, key: versions.get(key), id="version"),
    pytest.param(VERSIONS, lambda versions, key: versions.get(key, 5), id="version as of a time"),
    pytest.param(SESSIONS, lambda sessions, key: sessions.get(key, 0, 5), id="session get"),
    pytest.param(SESSIONS, lambda sessions, key: next(sessions.fetch(key), None), id="session fetch"),
    pytest.param(SESSIONS, lambda sessions, key: next(sessions.find_sessions(key, 0, 5), None), id="find"),
]
"""The questions about one key."""


@pytest.mark.parametrize(("definition", "ask"), OF_A_KEY)
def test_a_key_that_no_task_has_is_absent_or_elsewhere(definition: StoreDefinition, ask: Callable[..., Any]) -> None:
    one = filled_engine(definition, lambda _: None)
    asked: list[int] = []

    def active_of(partition: int) -> UserEndpoint:
        asked.append(partition)
        return THERE

    view = view_of(definition, [one], partitions=2, active_of=active_of)
    assert ask(view, HERE) is None
    with pytest.raises(StateStoreMigratedError, match=r"in partition 1 of store '\w+', which there:7001 has") as caught:
        ask(view, ELSEWHERE)
    assert (caught.value.active, asked) == (THERE, [1])
    unknown = view_of(definition, [one], partitions=2)
    with pytest.raises(StateStoreMigratedError, match="which a process that is not known now has") as caught:
        ask(unknown, ELSEWHERE)
    assert caught.value.active is None


@pytest.mark.parametrize(("definition", "ask"), OF_A_KEY)
def test_the_view_of_one_partition_takes_it_for_the_right_one(
    definition: StoreDefinition, ask: Callable[..., Any]
) -> None:
    view = view_of(definition, [filled_engine(definition, lambda _: None)], partitions=2, partition=0)
    assert ask(view, ELSEWHERE) is None


def test_a_key_is_found_where_a_partitioner_has_sent_it() -> None:
    view = view_of(ROWS, [filled_engine(ROWS, lambda rows: rows.put(ELSEWHERE, "1"))], partitions=2)
    assert view.get(ELSEWHERE) == "1"


def test_questions_about_no_key_read_what_is_here() -> None:
    view = view_of(ROWS, [filled_engine(ROWS, lambda _: None)], partitions=2)
    assert list(view.range(ELSEWHERE, ELSEWHERE)) == []


def test_a_key_whose_task_is_being_restored_is_not_elsewhere() -> None:
    engines = [filled_engine(ROWS, lambda _: None) for _ in range(2)]
    engines[1].set_status(EngineStatus.RESTORING)
    with pytest.raises(StoreNotAvailableError, match="partition 1 of store 'rows', whose task is being restored here"):
        view_of(ROWS, engines).get(ELSEWHERE)


def test_a_copy_says_that_a_key_is_absent_if_stale_answers_are_allowed() -> None:
    engines = [filled_engine(ROWS, lambda _: None) for _ in range(2)]
    engines[1].set_status(EngineStatus.STANDBY)
    assert view_of(ROWS, engines, allows_stale=True).get(ELSEWHERE) is None
    with pytest.raises(StateStoreMigratedError):
        view_of(ROWS, engines).get(ELSEWHERE)


def test_a_global_store_lacks_what_it_does_not_have() -> None:
    def ask(question: StoreQuestion) -> list[TaskAnswer]:
        return answers(question, ROWS, [(TaskId("0", 0), engine)], 2)

    engine = filled_engine(ROWS, lambda _: None)
    view = committed_view(TopologyStore(definition=ROWS, is_global=True), "app", ask)
    assert view.get(ELSEWHERE) is None


def test_a_key_with_a_window_is_where_the_key_without_it_is() -> None:
    windowed = serdes.time_windowed(TEXT, timedelta(milliseconds=10))
    rows = stores.key_value("windowed", windowed, TEXT)
    view = view_of(rows, [filled_engine(rows, lambda _: None)], partitions=2)
    for start_ms in range(0, 100, 10):
        assert view.get(Windowed(HERE, Window(start_ms, start_ms + 10))) is None
        with pytest.raises(StateStoreMigratedError):
            view.get(Windowed(ELSEWHERE, Window(start_ms, start_ms + 10)))


def test_an_error_tells_other_processes_who_has_a_key() -> None:
    error = pickle.loads(pickle.dumps(StateStoreMigratedError("text", THERE)))
    assert (str(error), error.active) == ("text", THERE)


@pytest.mark.parametrize("definition", [ROWS, WINDOWS, SESSIONS, VERSIONS], ids=lambda each: str(each.name))
def test_a_view_has_the_position_of_its_tasks(definition: StoreDefinition) -> None:
    engines = [filled_engine(definition, lambda _: None) for _ in range(2)]
    view = view_of(definition, engines)
    assert view.position == Position()
    for at, engine in enumerate(engines):
        engine.commit({}, notes=input_notes({TopicPartition("words", at): at + 5, TopicPartition("more", at): 0}))
    assert view.position == Position({"words": {0: 4, 1: 5}})
    assert view_of(definition, engines, partition=1).position == Position({"words": {1: 5}})


def test_a_copy_holds_back_the_position_of_a_stale_view() -> None:
    engines = [filled_engine(ROWS, lambda _: None) for _ in range(2)]
    for engine, offset in zip(engines, (9, 5), strict=True):
        engine.commit({}, notes=input_notes({TopicPartition("words", 0): offset}))

    def ask(question: StoreQuestion) -> list[TaskAnswer]:
        return answers(question, ROWS, [(TaskId("0", 0), engine) for engine in engines], 1)

    view = committed_view(TopologyStore(definition=ROWS), "app", ask, allows_stale=True)
    assert view.position == Position({"words": {0: 4}})
    engines.append(filled_engine(ROWS, lambda _: None))
    assert view.position == Position(), "nobody knows what the third one has"


def test_a_global_store_has_the_position_of_its_own_topic() -> None:
    engine = filled_engine(ROWS, lambda _: None)
    engine.commit({}, notes=input_notes({TopicPartition("names", 1): 3, TopicPartition("others", 0): 9}))

    def ask(question: StoreQuestion) -> list[TaskAnswer]:
        return answers(question, ROWS, [(TaskId("0", 0), engine)], 0)

    view = committed_view(TopologyStore(definition=ROWS, is_global=True, source_topic="names"), "app", ask)
    assert view.position == Position({"names": {1: 2}})
