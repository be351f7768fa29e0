"""Operators that need the records of one new key share a repartition topic."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KStream, Optimization, StreamsBuilder, Topology
from kafka_groups.streams.topology.nodes import SourceNode
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string

Stream = KStream[Any, Any]


def read(builder: StreamsBuilder, topic: str = "in", name: str = "in") -> Stream:
    return builder.stream(topic, key=TEXT, value=TEXT, name=name)


def by_value(builder: StreamsBuilder) -> Stream:
    return read(builder).select_key(lambda _, value: None if value == "none" else value, key=TEXT, name="key")


def kept(_key: Any, value: str | None) -> bool:
    return value != "x"


def count(stream: Stream, name: str) -> None:
    stream.group_by_key().count(store=f"{name}s", name=name).to_stream().to(name)


def both(_left: Any, right: Any) -> Any:
    return right


def branches(builder: StreamsBuilder) -> None:
    split = by_value(builder).split(name="split-")
    count(split.branch(kept, name="kept"), "one")
    count(split.default_branch(name="rest"), "two")


def streams_that_were_merged(builder: StreamsBuilder) -> None:
    merged = by_value(builder).merge(read(builder, "others", "others"), name="merge")
    count(merged, "one")
    count(merged.filter(kept, name="filter"), "two")


def shared_filter(builder: StreamsBuilder) -> None:
    filtered = by_value(builder).filter(kept, name="filter")
    count(filtered, "one")
    filtered.to("filtered", name="filtered")
    count(filtered, "two")


def single(builder: StreamsBuilder) -> None:
    count(by_value(builder).filter_not(kept, name="filter"), "one")


def chains(builder: StreamsBuilder) -> None:
    keyed = by_value(builder)
    count(keyed.filter(kept, name="filter").peek(kept, name="peek"), "one")
    count(keyed.filter_not(kept, name="filter-not"), "two")


def own_topic(builder: StreamsBuilder) -> None:
    keyed = by_value(builder)
    keyed.repartition(name="own").to("copied")
    count(keyed, "one")
    keyed.to_table(store="rows", name="table")


def new_values(builder: StreamsBuilder) -> None:
    keyed = by_value(builder)
    count(keyed, "one")
    count(keyed.map_values(str.upper, value=TEXT, name="values"), "two")


ONE = "ones-repartition"
BELOW: dict[str, tuple[Callable[[StreamsBuilder], None], dict[str, str]]] = {
    # operators and what they come to be below, as Kafka Streams 4.3.1 has it where it can build the topology
    "branches": (branches, {f"{ONE}-filter": "key", "split-": f"{ONE}-source", "one": "split-kept",
                            "two": "split-rest"}),
    "merge": (streams_that_were_merged,
              {f"{ONE}-filter": "merge", "one": f"{ONE}-source", "filter": f"{ONE}-source", "two": "filter"}),
    "shared filter": (shared_filter, {f"{ONE}-filter": "key", "filter": f"{ONE}-source", "one": "filter",
                                      "two": "filter", "filtered": "filter"}),
    "single": (single, {f"{ONE}-filter": "key", "filter": f"{ONE}-source", "one": "filter"}),
    "chains": (chains, {"filter": f"{ONE}-source", "peek": "filter", "one": "peek", "filter-not": f"{ONE}-source",
                        "two": "filter-not"}),
    "own topic": (own_topic, {"own-repartition-filter": "key", f"{ONE}-filter": "key", "one": f"{ONE}-source",
                              "table": f"{ONE}-source"}),
    "new values": (new_values, {f"{ONE}-filter": "key", "values": "key", "twos-repartition-filter": "values",
                                "one": f"{ONE}-source", "two": "twos-repartition-source"}),
}  # fmt: skip


def built(build: Callable[[StreamsBuilder], None], optimization: Optimization) -> Topology:
    builder = StreamsBuilder(optimization=optimization)
    build(builder)
    return builder.build()


def outputs(topology: Topology) -> dict[str, list[tuple[bytes | None, bytes | None]]]:
    with TopologyTestDriver(topology, statestore_cache_max_bytes=0) as driver:
        topic = driver.input_topic("in", TEXT, TEXT)
        for value in ("a", "x", "b", "a", "x", "x"):
            topic.pipe("k", value, timestamp_ms=0)
        return {
            name: [(record.key, record.value) for record in driver.records(name)]
            for name in ("one", "two", "filtered", "copied")
        }


@pytest.mark.parametrize("name", BELOW)
def test_operators_move_below_the_shared_topic(name: str) -> None:
    build, expected = BELOW[name]
    nodes = built(build, Optimization.MERGED_REPARTITIONS).graph.nodes
    assert {node: nodes[node].parents[0] for node in expected} == expected
    assert all(parent in nodes for node in nodes.values() for parent in node.parents)


@pytest.mark.parametrize("name", BELOW)
def test_the_results_stay_the_same(name: str) -> None:
    build, _ = BELOW[name]
    assert outputs(built(build, Optimization.MERGED_REPARTITIONS)) == outputs(built(build, Optimization.NONE))


def test_nothing_is_merged_unless_asked_for() -> None:
    optimization = Optimization.SOURCE_TOPICS_AS_CHANGELOGS | Optimization.SINGLE_STORE_SELF_JOINS
    for chosen in (optimization, Optimization.NONE):
        assert len(built(chains, chosen).graph.repartition_topics) == 2
    assert list(built(chains, Optimization.ALL).graph.repartition_topics) == [ONE]


def joined(builder: StreamsBuilder, *, keeps_unmatched: bool) -> None:
    keyed = by_value(builder)
    count(keyed, "one")
    rows = builder.table("rows", key=TEXT, value=TEXT, name="rows", store="rows")
    pairs = keyed.left_join(rows, both, name="pair") if keeps_unmatched else keyed.join(rows, both, name="pair")
    pairs.to("out", value=TEXT)


@pytest.mark.parametrize("keeps_unmatched", [True, False])
def test_joins_are_copartitioned_with_the_shared_topic_which_keeps_null_keys_for_left_joins(
    *, keeps_unmatched: bool
) -> None:
    topology = built(lambda builder: joined(builder, keeps_unmatched=keeps_unmatched), Optimization.MERGED_REPARTITIONS)
    (group,) = topology.graph.copartitioned
    sources = [topology.graph.nodes[name] for name in group]
    assert {topic for source in sources if isinstance(source, SourceNode) for topic in source.topics} == {ONE, "rows"}
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "none")
        assert len(driver.records(f"test-{ONE}")) == keeps_unmatched
        assert len(driver.records("out")) == keeps_unmatched
