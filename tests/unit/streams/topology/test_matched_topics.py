"""Patterns of topics: what they match, and what is refused."""

import re
from collections.abc import Iterable

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology, TopologyError
from kafka_groups.streams.topology.matched_topics import matched_topics, matching, pattern_sources, refuse_patterns
from kafka_groups.streams.topology.node_graph import NodeGraph

TEXT = serdes.string
EXISTING = ("app-again-repartition", "in", "orders-1", "orders-2", "xorders-3", "orders")


def built(*sources: str | re.Pattern[str]) -> NodeGraph:
    builder = StreamsBuilder()
    for number, source in enumerate(sources):
        builder.stream(source, key=TEXT, value=TEXT).to(f"out-{number}")
    return builder.build().graph


def read(graph: NodeGraph, topics: Iterable[str]) -> list[tuple[str, ...]]:
    """The topics that each pattern reads."""
    return [node.topics for node in matching(graph, "app", topics).patterns.values()]


def test_patterns_match_whole_names_and_only_those_of_topics_that_exist() -> None:
    graph = built(re.compile(r"orders-\d"), "in")
    assert read(graph, EXISTING) == [("orders-1", "orders-2")]
    assert read(graph, reversed(EXISTING)) == [("orders-1", "orders-2")]
    assert read(graph, []) == [()]
    assert matched_topics(graph, EXISTING) == {"orders-1", "orders-2"}
    assert [node.topics for node in graph.patterns.values()] == [()], "the topology itself stays as it was built"


def test_flags_belong_to_a_pattern() -> None:
    graph = built(re.compile("ORDERS-1", re.IGNORECASE), re.compile("ORDERS-1"))
    assert read(graph, EXISTING) == [("orders-1",), ()]


def test_a_topic_of_two_patterns_is_refused_when_it_exists() -> None:
    graph = built(re.compile("orders-.*"), re.compile(".*-1"))
    assert read(graph, ["orders-2", "in-1"]) == [("orders-2",), ("in-1",)]
    with pytest.raises(TopologyError, match=r"'orders-1' matches the pattern of source .* but source .* reads it, too"):
        matching(graph, "app", EXISTING)


def test_a_pattern_that_matches_a_repartition_topic_under_its_full_name_is_refused() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("app-.*"), key=TEXT, value=TEXT).to("one")
    builder.stream("in", key=TEXT, value=TEXT).repartition(name="again").to("two")
    graph = builder.build().graph
    assert read(graph, ["app-2"]) == [("app-2",)]
    with pytest.raises(TopologyError, match="'app-again-repartition'"):
        matching(graph, "app", EXISTING)
    assert matching(graph, "other", EXISTING).patterns, "it has another name there"


@pytest.mark.parametrize("topics", [("orders-1", re.compile("orders-.*")), (re.compile("orders-.*"), "orders-1")])
def test_a_pattern_that_matches_a_name_is_refused_at_once(topics: tuple[str | re.Pattern[str], ...]) -> None:
    with pytest.raises(TopologyError, match=r"'orders-\.\*', and with them topic 'orders-1'.*change the pattern"):
        built(*topics)


def test_two_nodes_with_one_pattern_are_refused_at_once() -> None:
    topology = Topology().add_source("one", re.compile("a.*"), key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match=r"Sources 'two' and 'one' both read the topics that match 'a\.\*'"):
        topology.add_source("two", re.compile("a.*"), key=TEXT, value=TEXT)


def test_streams_groups_have_no_patterns() -> None:
    refuse_patterns(built("in"))
    with pytest.raises(TopologyError, match=r"'orders-\.\*', but no release of Kafka .* Set group_protocol='classic'"):
        refuse_patterns(built(re.compile("orders-.*")))
    builder = StreamsBuilder()
    builder.stream(re.compile("orders-.*"), key=TEXT, value=TEXT).to("out")
    with pytest.raises(
        TopologyError, match=r"re\.compile\('orders-\.\*'\). Name .* group_topology\('app', topics=\[…\]\)"
    ):
        builder.build().group_topology("app")
    [found] = builder.build().group_topology("app", EXISTING).subtopologies
    assert found.source_topics == ("orders-1", "orders-2")


# ------------------------------------------------------------------------------- what members and leaders know of it


def counting() -> NodeGraph:
    builder = StreamsBuilder()
    lines = builder.stream(re.compile("lines-.*"), key=TEXT, value=TEXT)
    lines.group_by(lambda _, value: value, key=TEXT, value=TEXT, name="words").count(store="counts")
    builder.stream("in", key=TEXT, value=TEXT).to("out")
    return builder.build().graph


def test_a_group_lacks_sub_topologies_whose_patterns_match_nothing() -> None:
    sources = pattern_sources(counting(), "app", {"segment.bytes": "1000000"})
    assert sources is not None
    assert sources.subtopologies == {"0"}
    without = sources.topology_of(["in", "other"])
    assert [each.subtopology_id for each in without.subtopologies] == ["1", "2"]
    found = sources.topology_of(["lines-b", "lines-a"])
    assert [each.source_topics for each in found.subtopologies] == [("lines-a", "lines-b"), (), ("in",)]
    assert dict(found.subtopologies[1].changelogs[0].configs)["segment.bytes"] == "1000000"
    assert pattern_sources(built("in"), "app") is None


def test_topics_that_are_joined_through_patterns_are_copartitioned() -> None:
    builder = StreamsBuilder()
    rows = builder.table("rows", key=TEXT, value=TEXT)
    builder.stream(re.compile("lines-.*"), key=TEXT, value=TEXT).join(rows, lambda line, row: line + row).to(
        "out", value=TEXT
    )
    sources = pattern_sources(builder.build().graph, "app")
    assert sources is not None
    [both] = sources.topology_of(["lines-1", "lines-2"]).subtopologies
    assert both.copartition_groups == (frozenset({"lines-1", "lines-2", "rows"}),)
    [alone] = sources.topology_of([]).subtopologies
    assert alone.copartition_groups == (frozenset({"rows"}),)
