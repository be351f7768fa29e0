"""Arguments of the wrong type, and lists of names and stores."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    JoinWindows,
    KStream,
    KTable,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyError,
    stores,
)

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)


def test_one_store_is_not_a_list_of_stores() -> None:
    stream = StreamsBuilder().stream("in", key=TEXT, value=TEXT)
    topology = Topology().add_source("in", "in", key=TEXT, value=TEXT)
    given: Any
    for given in ("seen", SEEN):
        with pytest.raises(TypeError, match=r"^process: stores=.* is one store. .*stores=\(…,\)"):
            stream.process(max, stores=given)
        with pytest.raises(TypeError, match=r"^process_values: stores=.* is one store"):
            stream.process_values(max, stores=given)
        with pytest.raises(TypeError, match=r"^transform_values: stores=.* is one store"):
            stream.to_table().transform_values(max, stores=given)
        with pytest.raises(TypeError, match=r"^Processor 'one': stores=.* is one store"):
            topology.add_processor("one", max, parents=["in"], stores=given)
    given = [SEEN, 5]
    with pytest.raises(TypeError, match=r"^process: stores has 5, which is not a store"):
        stream.process(max, stores=given)


def test_one_parent_is_not_a_list_of_parents() -> None:
    topology = Topology().add_source("in", "in", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match=r"^Processor 'one': parents='in' is one name.*\['in'\]"):
        topology.add_processor("one", max, parents="in")
    with pytest.raises(TypeError, match=r"^Sink 'out': parents='in' is one name"):
        topology.add_sink("out", "out", parents="in", key=TEXT, value=TEXT)
    given: Any = [5]
    with pytest.raises(TypeError, match=r"^Sink 'out': parents has 5, which is not a name"):
        topology.add_sink("out", "out", parents=given, key=TEXT, value=TEXT)


def stream() -> KStream[str, str]:
    return StreamsBuilder().stream("in", key=TEXT, value=TEXT)


def plus(left: Any, right: Any) -> str:
    return f"{left}+{right}"


def table() -> KTable[str, str]:
    return StreamsBuilder().table("in", key=TEXT, value=TEXT)


SECOND = timedelta(seconds=1)
WINDOWS, SESSIONS = TimeWindows(SECOND, grace=SECOND), SessionWindows(SECOND, grace=SECOND)
JOIN_WINDOWS = JoinWindows(before=SECOND, after=SECOND, grace=SECOND)
WINDOW = stores.window("w", TEXT, TEXT, size=SECOND, retention=SECOND)
WRONG: dict[str, Callable[[Any], object]] = {
    "windowed_by: windows=5 is not a definition of windows": lambda five: stream().group_by_key().windowed_by(five),
    "windowed_by: windows=5 is not a": lambda five: stream().group_by_key().cogroup(max).windowed_by(five),
    "emit_strategy: strategy=5 is not an EmitStrategy":
        lambda five: stream().group_by_key().windowed_by(WINDOWS).emit_strategy(five),
    "count: store=5 is not the name or definition of a key-value or versioned store":
        lambda five: stream().group_by_key().count(store=five),
    "count: store=5 is not the name or definition of a window store":
        lambda five: stream().group_by_key().windowed_by(WINDOWS).count(store=five),
    "count: store=5 is not the name or definition of a session store":
        lambda five: stream().group_by_key().windowed_by(SESSIONS).count(store=five),
    "merge: other=5 is not a stream. A table becomes one by to_stream": lambda five: stream().merge(five),
    "join: other=5 is not a stream or table": lambda five: stream().join(five, max),
    "outer_join: other=5 is not a stream": lambda five: stream().outer_join(five, plus, windows=JOIN_WINDOWS),
    "cogroup: grouped=5 is not a stream that is grouped": lambda five: stream().group_by_key().cogroup(max).cogroup(
        five, max),
    "join: other=5 is not a table": lambda five: table().join(five, max),
    "join: other=5 is not a tabl": lambda five: table().join(five, max, on=max),
    "name=5 is not a string": lambda five: stream().peek(max, name=five),
    "add_state_store: definition=5 is not the definition of a store": lambda five: StreamsBuilder().add_state_store(
        five),
    "add_state_store: definition=5 is not": lambda five: Topology().add_state_store(five),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_arguments_of_another_type_are_refused_where_they_are_given(message: str) -> None:
    given: Any = 5
    with pytest.raises(TypeError, match=f"^{message}"):
        WRONG[message](given)


def test_a_store_of_another_kind_is_refused() -> None:
    given: Any = WINDOW
    with pytest.raises(
        TypeError, match=r"^table: store=WindowDefinition.* is not the name or definition of a key-value"
    ):
        StreamsBuilder().table("in", key=TEXT, value=TEXT, store=given)


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 250])
def test_operators_have_names_that_kafka_streams_allows(name: str) -> None:
    with pytest.raises(TopologyError, match=r"is not the name of an operator. Use up to 249 ASCII"):
        stream().peek(max, name=name)
    with pytest.raises(TopologyError, match=r"is not the name of an operator. Use up to 249 ASCII"):
        stream().process(max, name=name)


@pytest.mark.parametrize("topics", [(re.compile("a"), "b"), (re.compile("a"), re.compile("b"))])
def test_a_pattern_stands_alone(topics: tuple[Any, ...]) -> None:
    with pytest.raises(TopologyError, match=r"^stream reads re\.compile\('a'\), .* Give one pattern alone"):
        StreamsBuilder().stream(*topics, key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match=r"^Source 'in' reads re\.compile\('a'\), .* Give one pattern alone"):
        Topology().add_source("in", *topics, key=TEXT, value=TEXT)


def test_a_pattern_is_compiled_and_of_text() -> None:
    with pytest.raises(TopologyError, match=r"invalid topic name 'a\.\*'.*give it re\.compile\(…\)"):
        StreamsBuilder().stream("a.*", "a*", key=TEXT, value=TEXT)
    given: Any = re.compile(b"a.*")
    with pytest.raises(TopologyError, match=r"re\.compile\(b'a\.\*'\) has bytes"):
        StreamsBuilder().stream(given, key=TEXT, value=TEXT)
