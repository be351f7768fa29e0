"""The code of the user runs in the thread that asks, and keeps no worker waiting."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from attrs import field, frozen

from kafka_groups import serdes
from kafka_groups.serdes import Serde
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer
from kafka_groups.streams import stores
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import Header
from tests.unit.streams.queries.views import filled_engine, view_of


@frozen
class Watched(Serde[str]):
    """A serde that looks whether a worker waits while it is used."""

    name: str = "watched"
    is_immutable: bool = True
    engines: list[SharedEngine] = field(factory=list)
    calls: list[str] = field(factory=list)

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[str]:
        self.look("bound")
        inner = serdes.string.serializer(topic, is_key=is_key)

        def serialize(value: str, headers: list[Header]) -> bytes:
            self.look("used")
            return inner(value, headers)

        return serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[str]:
        self.look("bound")
        inner = serdes.string.deserializer(topic, is_key=is_key)

        def deserialize(data: bytes, headers: Sequence[Header]) -> str:
            self.look("used")
            return inner(data, headers)

        return deserialize

    def look(self, call: str) -> None:
        self.calls.append(call)
        assert not any(engine.lock.locked() for engine in self.engines), "a worker waits"


Define = Callable[[Serde[str]], StoreDefinition]
Ask = Callable[[Any], object]

SIZE, RETENTION = timedelta(milliseconds=10), timedelta(minutes=1)


def rows(serde: Serde[str]) -> StoreDefinition:
    return stores.key_value("rows", serde, serde)


def windows(serde: Serde[str]) -> StoreDefinition:
    return stores.window("windows", serde, serde, size=SIZE, retention=RETENTION)


def sessions(serde: Serde[str]) -> StoreDefinition:
    return stores.session("sessions", serde, serde, retention=RETENTION)


def versions(serde: Serde[str]) -> StoreDefinition:
    return stores.versioned("versions", serde, serde, history=RETENTION)


QUESTIONS: list[tuple[Define, Callable[[Any], object], Ask]] = [
    *((rows, lambda store: store.put("a", "1"), ask) for ask in (
        lambda store: store.get("a"), lambda store: store.all(), lambda store: store.range("a", "b"),
    )),
    *((windows, lambda store: store.put("a", "1", 5), ask) for ask in (
        lambda store: store.get("a", 5), lambda store: store.all(), lambda store: store.fetch("a", 0, 9),
        lambda store: store.fetch_all(0, 9), lambda store: store.fetch_range("a", "b", 0, 9),
    )),
    *((sessions, lambda store: store.put("a", 1, 5, "1"), ask) for ask in (
        lambda store: store.get("a", 1, 5), lambda store: store.all(), lambda store: store.fetch("a"),
        lambda store: store.find_sessions("a", 0, 9),
    )),
    *((versions, lambda store: store.put("a", "1", 5), ask) for ask in (
        lambda store: store.get("a").value, lambda store: store.get("a", 7).value,
    )),
]  # fmt: skip


@pytest.mark.parametrize(("define", "fill", "ask"), QUESTIONS)
def test_no_lock_is_held_while_the_code_of_the_user_runs(define: Define, fill: Ask, ask: Ask) -> None:
    serde = Watched()
    definition = define(serde)
    serde.engines.append(filled_engine(definition, fill))
    view = view_of(definition, serde.engines)
    serde.calls.clear()
    found = ask(view)
    assert list(found) if isinstance(found, Iterator) else found == "1"
    assert "used" in serde.calls
