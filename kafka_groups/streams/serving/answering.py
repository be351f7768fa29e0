"""The answer to a question of an address: from this process, or from the one that has the key."""

import logging
from collections.abc import Mapping
from typing import Any, Final, Protocol

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import text_of
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.errors import (
    InvalidStateStoreError,
    StateStoreMigratedError,
    StreamsError,
    UnknownStateStoreError,
)
from kafka_groups.streams.queries.placement import StreamsMetadata
from kafka_groups.streams.serving.json_values import json_text, read_number
from kafka_groups.streams.serving.owners import HttpDocument, ask_owner
from kafka_groups.streams.serving.reading import Asked, read
from kafka_groups.streams.state.stores import StoreDefinition

__all__ = ["HttpQuestion", "KeptViews", "Queried", "answer", "stores_of"]

_log = logging.getLogger(__name__)

_ATTEMPTS: Final = 4
"""The most attempts to ask while tasks move. The first one may be that of a view whose task has gone long ago."""

_OK, _BAD, _UNKNOWN, _WRONG_HOST, _FAILED, _NOT_NOW = 200, 400, 404, 421, 500, 503


class Queried(Protocol):
    """The part of an application that a server uses."""

    @property
    def stores(self) -> Mapping[str, StoreDefinition]:
        """The stores of its topology by their names."""

    def store(self, store: str, partition: int | None = None, *, allow_stale: bool = False) -> Any:
        """Return a view of a store."""

    def streams_metadata_for_all_clients(self) -> tuple[StreamsMetadata, ...]:
        """Return its processes and what they have."""


class KeptViews:
    """The views of an application. Making one asks its tasks, so a view is kept as long as it answers.

    Args:
        app: The application.

    Attributes:
        app: The application.
    """

    def __init__(self, app: Queried) -> None:
        self.app = app
        self._views: dict[tuple[str, int | None, bool], Any] = {}

    def __repr__(self) -> str:
        return f"<KeptViews: {len(self._views)} views>"

    def view(self, store: str, partition: int | None, *, allow_stale: bool) -> Any:
        """Return a view of a store.

        Raises:
            StreamsError: There is none now.
        """
        found = self._views.get((store, partition, allow_stale))
        if found is None:
            found = self.app.store(store, partition, allow_stale=allow_stale)
            self._views[store, partition, allow_stale] = found
        return found

    def forget(self, store: str) -> None:
        """Let go of the views of a store: a task of theirs has gone."""
        for key in [each for each in tuple(self._views) if each[0] == store]:
            self._views.pop(key, None)


@frozen
class HttpQuestion:
    """A question over HTTP.

    Attributes:
        store: The name of the store.
        method: The last part of the address.
        parameters: Those of the address.
        target: The path and the parameters as they came.
        is_forwarded: Whether another process has passed it on.
    """

    store: str
    method: str
    parameters: Mapping[str, str]
    target: str
    is_forwarded: bool


def stores_of(app: Queried) -> HttpDocument:
    """Return the stores of an application, and its processes."""
    kinds = {name: type(each).__name__.removesuffix("Definition") for name, each in sorted(app.stores.items())}
    processes = [
        {
            "host": each.host.host,
            "port": each.host.port,
            "active": [f"{place.topic}-{place.partition}" for place in sorted(each.active)],
            "standby": [f"{place.topic}-{place.partition}" for place in sorted(each.standby)],
        }
        for each in app.streams_metadata_for_all_clients()
    ]
    return HttpDocument(_OK, json_text({"stores": kinds, "processes": processes}))


def answer(views: KeptViews, question: HttpQuestion) -> HttpDocument:
    """Return the answer to a question. Blocks; asks the process that has the key, if it is another one.

    Its status: 200; 400 for a question that the store cannot answer; 404 for an unknown store, and a key that is not
    there; 421 if the question was passed on, and the key is elsewhere by now; 503 while tasks move or are restored.
    """
    try:
        return _answer(views, question)
    except UnknownStateStoreError as error:
        return _problem(_UNKNOWN, error)
    except (ConfigurationError, ValueError) as error:
        return _problem(_BAD, error)
    except InvalidStateStoreError as error:
        return _problem(_NOT_NOW, error)
    except (StreamsError, TypeError) as error:
        _log.warning("Store %r could not answer %s: %s", question.store, question.target[:200], text_of(error))
        return _problem(_FAILED, error)


def _answer(views: KeptViews, question: HttpQuestion) -> HttpDocument:
    for _ in range(_ATTEMPTS):
        try:
            return _answer_here(views, question)
        except StateStoreMigratedError as error:
            if error.active is not None:
                return _answer_there(question, error.active)
            moved = error  # a task of the view has gone, or nobody is known to have the key
            views.forget(question.store)
    raise moved


def _answer_here(views: KeptViews, question: HttpQuestion) -> HttpDocument:
    text = question.parameters.get("partition")
    partition = None if text is None else read_number(text, "partition")
    allow_stale = question.parameters.get("allow_stale", "false") == "true"
    view = views.view(question.store, partition, allow_stale=allow_stale)
    found = read(view, Asked(views.app.stores[question.store], question.method, question.parameters))
    if found is None:
        return HttpDocument(_UNKNOWN, json_text({"error": f"Store {question.store!r} has no such key."}))
    return HttpDocument(_OK, json_text(found))


def _answer_there(question: HttpQuestion, owner: UserEndpoint) -> HttpDocument:
    where = f"{owner.host}:{owner.port}"
    if question.is_forwarded:
        body = {"error": f"The key is at {where} by now. Ask again.", "active": where}
        return HttpDocument(_WRONG_HOST, json_text(body))
    try:
        return ask_owner(owner, question.target)
    except OSError as error:
        _log.warning("%s, which has the key of %s, does not answer: %s", where, question.target[:200], error)
        return HttpDocument(_NOT_NOW, json_text({"error": f"{where}, which has the key, does not answer: {error}"}))


def _problem(status: int, error: Exception) -> HttpDocument:
    return HttpDocument(status, json_text({"error": text_of(error)}))
