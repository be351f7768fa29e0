"""The status of an answer, by what the application says."""

import json
import logging
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams import (
    StateStoreMigratedError,
    StoreNotAvailableError,
    StreamsError,
    StreamsMetadata,
    StreamsNotStartedError,
    UnknownStateStoreError,
    stores,
)
from kafka_groups.streams.serving import answering
from kafka_groups.streams.serving.answering import HttpQuestion, KeptViews, answer, stores_of
from kafka_groups.streams.serving.owners import HttpDocument
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TopicPartition

COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
THERE = UserEndpoint(host="10.0.0.8", port=8080)


class App:
    """An application that answers as it is told, one answer after the other; the last one stays."""

    stores: Mapping[str, StoreDefinition] = {"counts": COUNTS}

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int | None, bool]] = []

    def store(self, store: str, partition: int | None = None, *, allow_stale: bool = False) -> Any:
        self.asked.append((store, partition, allow_stale))
        if store not in self.stores:
            raise UnknownStateStoreError(f"The topology has no store {store!r}.")
        return SimpleNamespace(get=self._get)

    def _get(self, _key: str) -> object:
        told = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        if isinstance(told, Exception):
            raise told
        return told

    def streams_metadata_for_all_clients(self) -> tuple[StreamsMetadata, ...]:
        return (StreamsMetadata(THERE, frozenset({TopicPartition("words", 1)}), frozenset()),)


def question(store: str = "counts", *, is_forwarded: bool = False, **parameters: str) -> HttpQuestion:
    return HttpQuestion(store, "get", {"key": "be", **parameters}, f"/stores/{store}/get?key=be", is_forwarded)


def asked(app: App | KeptViews, **more: Any) -> tuple[int, Any]:
    found = answer(KeptViews(app) if isinstance(app, App) else app, question(**more))
    return found.status, json.loads(found.body)


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Callable[[HttpDocument | OSError], list[tuple[UserEndpoint, str]]]:
    """Let the other process answer, and return what it is asked."""

    def answers(told: HttpDocument | OSError) -> list[tuple[UserEndpoint, str]]:
        seen: list[tuple[UserEndpoint, str]] = []

        def ask(owner: UserEndpoint, target: str) -> HttpDocument:
            seen.append((owner, target))
            if isinstance(told, OSError):
                raise told
            return told

        monkeypatch.setattr(answering, "ask_owner", ask)
        return seen

    return answers


def test_a_key_is_found() -> None:
    app = App(7)
    assert asked(app) == (200, {"key": "be", "value": 7})
    assert asked(app, partition="3", allow_stale="true") == (200, {"key": "be", "value": 7})
    assert app.asked == [("counts", None, False), ("counts", 3, True)]


@pytest.mark.parametrize(
    ("told", "status", "text"),
    [
        (None, 404, "Store 'counts' has no such key."),
        (StreamsNotStartedError("not started"), 503, "not started"),
        (StoreNotAvailableError("restoring"), 503, "restoring"),
        (StateStoreMigratedError("moved"), 503, "moved"),
        (StreamsError("broken"), 500, "broken"),
    ],
)
def test_what_is_not_found(told: Exception | None, status: int, text: str) -> None:
    assert asked(App(told)) == (status, {"error": text})


def test_unknown_stores_and_wrong_parameters() -> None:
    assert asked(App(7), store="count")[0] == 404
    assert asked(App(7), partition="one") == (
        400, {"error": "partition='one' is not a whole number, such as 1767225600000."},
    )  # fmt: skip


def test_a_value_without_a_form_in_json_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert asked(App({1})) == (500, {"error": "a value of type set has no form in JSON"})
    assert "Store 'counts' could not answer /stores/counts/get?key=be: a value of type set" in caplog.text


def test_a_task_that_moves_in_between_is_asked_again() -> None:
    assert asked(App(StateStoreMigratedError("moved"), 7)) == (200, {"key": "be", "value": 7})


def test_a_view_is_made_once_and_again_when_a_task_of_it_has_gone() -> None:
    """Making a view asks the tasks whether they are there, which would double the cost of each question."""
    app = App(7, 8, StateStoreMigratedError("moved"), 9, 10, 11)
    views = KeptViews(app)
    found = [asked(views)[1]["value"] for _ in range(2)]
    assert (found, app.asked) == ([7, 8], [("counts", None, False)])
    found = [asked(views)[1]["value"] for _ in range(2)]
    assert (found, app.asked) == ([9, 10], 2 * [("counts", None, False)])
    assert asked(views, partition="1")[1]["value"] == 11
    assert app.asked[2:] == [("counts", 1, False)]


def test_stores_that_are_not_there_have_no_view() -> None:
    views = KeptViews(App(7))
    assert [asked(views, store="count")[0] for _ in range(2)] == [404, 404]
    assert repr(views) == "<KeptViews: 0 views>"


def test_a_key_that_another_process_has_is_asked_there(
    owner: Callable[[HttpDocument | OSError], list[tuple[UserEndpoint, str]]],
) -> None:
    seen = owner(HttpDocument(404, b'{"error": "no such key"}'))
    assert asked(App(StateStoreMigratedError("elsewhere", THERE))) == (404, {"error": "no such key"})
    assert seen == [(THERE, "/stores/counts/get?key=be")]


def test_a_forwarded_question_is_not_passed_on(
    owner: Callable[[HttpDocument | OSError], list[tuple[UserEndpoint, str]]],
) -> None:
    seen = owner(HttpDocument(200, b"{}"))
    status, body = asked(App(StateStoreMigratedError("elsewhere", THERE)), is_forwarded=True)
    assert (status, body["active"], seen) == (421, "10.0.0.8:8080", [])


def test_an_owner_that_does_not_answer_is_logged(
    owner: Callable[[HttpDocument | OSError], list[tuple[UserEndpoint, str]]], caplog: pytest.LogCaptureFixture
) -> None:
    owner(OSError("timed out"))
    status, body = asked(App(StateStoreMigratedError("elsewhere", THERE)))
    assert (status, body) == (503, {"error": "10.0.0.8:8080, which has the key, does not answer: timed out"})
    assert "10.0.0.8:8080, which has the key of /stores/counts/get?key=be, does not answer: timed out" in caplog.text


def test_stores_and_processes_are_listed() -> None:
    found = stores_of(App())
    process = {"host": "10.0.0.8", "port": 8080, "active": ["words-1"], "standby": []}
    assert json.loads(found.body) == {"stores": {"counts": "KeyValue"}, "processes": [process]}
