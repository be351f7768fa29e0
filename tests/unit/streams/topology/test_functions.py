"""Functions that give no value, and what is no function, are refused where they are given."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    KGroupedStream,
    KStream,
    KTable,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)


async def awaited(*_given: Any) -> Any:
    return None


def yielding(*given: Any) -> Iterator[Any]:
    yield given


def stream(builder: StreamsBuilder, topic: str = "in") -> KStream[Any, Any]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def table(builder: StreamsBuilder, topic: str = "table") -> KTable[Any, Any]:
    return builder.table(topic, key=TEXT, value=TEXT)


def grouped(builder: StreamsBuilder) -> KGroupedStream[Any, Any]:
    return stream(builder).group_by_key()


WINDOWS = TimeWindows(timedelta(seconds=1), grace=timedelta(0))
SESSIONS = SessionWindows(timedelta(seconds=1), grace=timedelta(0))

Use = Callable[[StreamsBuilder, Any], object]

VALUES: dict[str, Use] = {
    "filter: predicate": lambda b, f: stream(b).filter(f),
    "filter_not: predicate": lambda b, f: stream(b).filter_not(f),
    "map: function": lambda b, f: stream(b).map(f),
    "map_values: function": lambda b, f: stream(b).map_values(f),
    "map_values: with_key": lambda b, f: stream(b).map_values(with_key=f),
    "select_key: function": lambda b, f: stream(b).select_key(f),
    "peek: action": lambda b, f: stream(b).peek(f),
    "foreach: action": lambda b, f: stream(b).foreach(f),
    "branch: predicate": lambda b, f: stream(b).split().branch(f),
    "group_by: function": lambda b, f: stream(b).group_by(f),
    "join: joiner": lambda b, f: stream(b).join(table(b), f),
    "left_join: with_key": lambda b, f: stream(b).left_join(table(b), with_key=f),
    "join: on": lambda b, f: stream(b).join(b.global_table("rates", key=TEXT, value=TEXT), max, on=f),
    "repartition: partitioner": lambda b, f: stream(b).repartition(partitioner=f),
    "Sink 'KSTREAM-SINK-0000000001': partitioner": lambda b, f: stream(b).to("out", partitioner=f),
    "Source 'KSTREAM-SOURCE-0000000000': timestamp": lambda b, f: b.stream("in", key=TEXT, value=TEXT, timestamp=f),
    "A source: timestamp": lambda b, f: b.table("in", key=TEXT, value=TEXT, timestamp=f),
    "reduce: reducer": lambda b, f: grouped(b).reduce(f),
    "aggregate: initializer": lambda b, f: grouped(b).aggregate(f, max, value=TEXT),
    "aggregate: aggregator": lambda b, f: grouped(b).aggregate(str, f, value=TEXT),
    "windowed reduce: reducer": lambda b, f: grouped(b).windowed_by(WINDOWS).reduce(f),
    "windowed aggregate: aggregator": lambda b, f: grouped(b).windowed_by(WINDOWS).aggregate(str, f, value=TEXT),
    "session reduce: reducer": lambda b, f: grouped(b).windowed_by(SESSIONS).reduce(f),
    "session aggregate: merger": lambda b, f: grouped(b).windowed_by(SESSIONS).aggregate(str, max, f, value=TEXT),
    "cogroup: aggregator": lambda b, f: grouped(b).cogroup(f),
    "cogrouped aggregate: initializer": lambda b, f: grouped(b).cogroup(max).aggregate(f, value=TEXT),
    "windowed aggregate: initializer":
        lambda b, f: grouped(b).cogroup(max).windowed_by(WINDOWS).aggregate(f, value=TEXT),
    "session aggregate: initializer":
        lambda b, f: grouped(b).cogroup(max).windowed_by(SESSIONS).aggregate(f, max, value=TEXT),
    "table filter: predicate": lambda b, f: table(b).filter(f),
    "table filter_not: predicate": lambda b, f: table(b).filter_not(f),
    "table map_values: function": lambda b, f: table(b).map_values(f),
    "transform_values: function": lambda b, f: table(b).transform_values(f),
    "table group_by: function": lambda b, f: table(b).group_by(f),
    "table reduce: adder": lambda b, f: table(b).group_by(max, key=TEXT, value=TEXT).reduce(f, max),
    "table reduce: subtractor": lambda b, f: table(b).group_by(max, key=TEXT, value=TEXT).reduce(max, f),
    "table aggregate: subtractor": lambda b, f: table(b).group_by(max, key=TEXT, value=TEXT).aggregate(str, max, f),
    "table join: joiner": lambda b, f: table(b).join(table(b, "other"), f),
    "table join: on": lambda b, f: table(b).join(table(b, "other"), max, on=f),
    "process: factory": lambda b, f: stream(b).process(factory=f),
}  # fmt: skip


def driven(**functions: Any) -> None:
    builder = StreamsBuilder()
    stream(builder).to("out")
    TopologyTestDriver(builder.build(), **functions)


VALUES |= {
    f"TopologyTestDriver: {name}": lambda _, f, name=name: driven(**{name: f})  # type: ignore[misc]
    for name in (
        "timestamp",
        "processing_exception_handler",
        "deserialization_exception_handler",
        "production_exception_handler",
        "on_record",
    )
}

SEVERAL_VALUES: dict[str, Use] = {
    "flat_map: function": lambda b, f: stream(b).flat_map(f),
    "flat_map_values: function": lambda b, f: stream(b).flat_map_values(f),
    "flat_map_values: with_key": lambda b, f: stream(b).flat_map_values(with_key=f),
    "process: function": lambda b, f: stream(b).process(f),
    "process_values: function": lambda b, f: stream(b).process_values(f),
    "add_global_store: function": lambda b, f: b.add_global_store(SEEN, "rows", f, key=TEXT, value=TEXT),
    "Processor 'one': function": lambda _, f: Topology().add_source("in", "in", key=TEXT, value=TEXT).add_processor(
        "one", f, parents=["in"]),
}  # fmt: skip

SINGULAR = ("windowed ", "session ", "cogrouped ", "table ")


def said(name: str) -> str:
    """Return how a message begins: operator and argument, without what tells the cases apart."""
    return next((name.removeprefix(word) for word in SINGULAR if name.startswith(word)), name)


@pytest.mark.parametrize("name", VALUES)
def test_functions_whose_call_gives_no_value_are_refused_where_they_are_given(name: str) -> None:
    use = VALUES[name]
    with pytest.raises(TypeError, match=rf"^{said(name)}=<function awaited.*async def.*Declare it with def"):
        use(StreamsBuilder(), awaited)
    with pytest.raises(TypeError, match=rf"^{said(name)}=<function yielding.*yield.*Return the value"):
        use(StreamsBuilder(), yielding)
    with pytest.raises(TypeError, match=rf"^{said(name)}=5 is not callable"):
        use(StreamsBuilder(), 5)


@pytest.mark.parametrize("name", SEVERAL_VALUES)
def test_functions_that_may_yield_several_values_must_not_be_async(name: str) -> None:
    use = SEVERAL_VALUES[name]
    use(StreamsBuilder(), yielding)
    with pytest.raises(TypeError, match=rf"^{name}=<function awaited.*async def"):
        use(StreamsBuilder(), awaited)
    with pytest.raises(TypeError, match=rf"^{name}=5 is not callable"):
        use(StreamsBuilder(), 5)
