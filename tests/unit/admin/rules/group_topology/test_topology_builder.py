"""The builder of topologies: what it accepts, and what it says about mistakes."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, RepartitionTopic, Subtopology
from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder, TopologyError

THROUGH = RepartitionTopic("app-through-repartition")


def test_two_subtopologies_with_a_repartition_topic_between_them() -> None:
    topology = (
        GroupTopologyBuilder()
        .add_subtopology("0", sources=["in"], sinks=[THROUGH.name])
        .add_subtopology("1", repartition_sources=[THROUGH], changelogs=[ChangelogTopic("app-counts-changelog")])
        .build()
    )
    assert topology.subtopologies == (
        Subtopology(subtopology_id="0", source_topics=("in",), repartition_sinks=(THROUGH.name,)),
        Subtopology(
            subtopology_id="1", repartition_sources=(THROUGH,), changelogs=(ChangelogTopic("app-counts-changelog"),)
        ),
    )


def test_the_changelog_of_an_optimised_table_is_its_source() -> None:
    builder = GroupTopologyBuilder().add_subtopology("0", sources=["table"], changelogs=[ChangelogTopic("table")])
    assert builder.build().subtopologies[0].changelogs == (ChangelogTopic("table"),)


def test_copartition_groups_that_share_a_topic_become_one() -> None:
    groups = [["a", "b"], ["c"], ["e"], ["c", "d"], ["d", "b"]]
    topology = GroupTopologyBuilder().add_subtopology("0", sources=list("abcde"), copartition=groups).build()
    # As in Java, the last group joins that of one of its topics, and leaves c to the other.
    assert topology.subtopologies[0].copartition_groups == (frozenset("abd"), frozenset("cd"), frozenset("e"))


def any_(value: Any) -> Any:
    return value


ALONE: dict[str, tuple[Callable[[GroupTopologyBuilder], object], str]] = {
    "no id": (lambda b: b.add_subtopology("", sources=["a"]), "id of a sub-topology must not be empty"),
    "the same id": (
        lambda b: b.add_subtopology("0", sources=["a"]).add_subtopology("0", sources=["b"]),
        "already a sub-topology '0'",
    ),
    "no source": (lambda b: b.add_subtopology("0", changelogs=[ChangelogTopic("c")]), "'0' reads no topic"),
    "a string": (lambda b: b.add_subtopology("0", sources="orders"), r"one string. Use a list: \['orders'\]"),
    "a number": (lambda b: b.add_subtopology("0", sources=[any_(3)]), "sources has 3, which is not a topic name"),
    "no list": (lambda b: b.add_subtopology("0", copartition=any_(3)), "copartition is 3, which is not a list"),
    "a repartition topic's name": (
        lambda b: b.add_subtopology("0", repartition_sources=[any_("r")]),
        r"repartition_sources has 'r', which is not a RepartitionTopic\. Use RepartitionTopic\('r'\)\.",
    ),
    "a changelog's name": (
        lambda b: b.add_subtopology("0", sources=["a"], changelogs=[any_("c")]),
        r"changelogs has 'c', which is not a ChangelogTopic\. Use ChangelogTopic\('c'\)\.",
    ),
    "a pair": (
        lambda b: b.add_subtopology("0", repartition_sources=[any_(("r", 3))]),
        r"has \('r', 3\), which is not a RepartitionTopic\. Use RepartitionTopic\('name'\)\.",
    ),
    "a bad name": (lambda b: b.add_subtopology("0", sources=["a*"]), r"invalid topic name 'a\*'"),
    "a name of dots": (lambda b: b.add_subtopology("0", sources=[".."]), "invalid topic name '..'"),
    "a long name": (lambda b: b.add_subtopology("0", sources=["a" * 250]), "1 to 249 ASCII letters"),
    "a bad sink": (lambda b: b.add_subtopology("0", sources=["a"], sinks=["b c"]), "invalid topic name 'b c'"),
    "Kafka's own": (
        lambda b: b.add_subtopology("0", sources=["__consumer_offsets"]),
        "__consumer_offsets, which is an internal topic",
    ),
    "a source twice": (lambda b: b.add_subtopology("0", sources=["a", "a"]), "the source a 2 times"),
    "both kinds of source": (
        lambda b: b.add_subtopology("0", sources=["a"], repartition_sources=[RepartitionTopic("a")]),
        "the source a 2 times",
    ),
    "a sink twice": (lambda b: b.add_subtopology("0", sources=["a"], sinks=["b", "b"]), "the sink b 2 times"),
    "a changelog twice": (
        lambda b: b.add_subtopology("0", sources=["a"], changelogs=[ChangelogTopic("c"), ChangelogTopic("c")]),
        "the changelog c 2 times",
    ),
    "no partitions": (
        lambda b: b.add_subtopology("0", repartition_sources=[RepartitionTopic("r", 0)]),
        "repartition topic r has 0 partitions",
    ),
    "no replicas": (
        lambda b: b.add_subtopology("0", sources=["a"], changelogs=[ChangelogTopic("c", replication_factor=0)]),
        "topic c has the replication factor 0",
    ),
    "an empty group": (lambda b: b.add_subtopology("0", sources=["a"], copartition=[[]]), "empty copartition group"),
    "a foreign group": (
        lambda b: b.add_subtopology("0", sources=["a"], copartition=[["a", "b"]]),
        "b in a copartition group but does not read it",
    ),
}


@pytest.mark.parametrize("mistake", ALONE)
def test_a_mistake_within_a_subtopology(mistake: str) -> None:
    make, message = ALONE[mistake]
    with pytest.raises(TopologyError, match=message):
        make(GroupTopologyBuilder())


BETWEEN: dict[str, tuple[GroupTopologyBuilder, str]] = {
    "nothing": (GroupTopologyBuilder(), "The topology is empty"),
    "two readers": (
        GroupTopologyBuilder().add_subtopology("0", sources=["a"]).add_subtopology("1", sources=["a"]),
        "Topic a is read by the sub-topologies '0' and '1'",
    ),
    "nobody writes": (
        GroupTopologyBuilder().add_subtopology("0", repartition_sources=[THROUGH]),
        f"'0' reads the repartition topic {THROUGH.name}, but none writes to it",
    ),
    "nobody reads": (
        GroupTopologyBuilder().add_subtopology("0", sources=["a"], sinks=["out"]),
        "'0' has the sink out, which is not a repartition source",
    ),
    "a shared changelog": (
        GroupTopologyBuilder()
        .add_subtopology("0", sources=["a"], changelogs=[ChangelogTopic("c")])
        .add_subtopology("1", sources=["b"], changelogs=[ChangelogTopic("c")]),
        "Changelog c of sub-topology '1' is also used by sub-topology '0'",
    ),
    "a changelog that another reads": (
        GroupTopologyBuilder()
        .add_subtopology("0", sources=["a"], changelogs=[ChangelogTopic("b")])
        .add_subtopology("1", sources=["b"]),
        "Changelog b of sub-topology '0' is also used by sub-topology '1'",
    ),
    "a changelog that is a sink": (
        GroupTopologyBuilder()
        .add_subtopology("0", sources=["a"], sinks=[THROUGH.name], changelogs=[ChangelogTopic(THROUGH.name)])
        .add_subtopology("1", repartition_sources=[THROUGH]),
        "is also used by sub-topology '1'",
    ),
}


@pytest.mark.parametrize("mistake", BETWEEN)
def test_a_mistake_between_subtopologies(mistake: str) -> None:
    builder, message = BETWEEN[mistake]
    with pytest.raises(TopologyError, match=message):
        builder.build()


def test_a_sub_topology_whose_patterns_match_nothing_is_left_out_but_what_it_writes_counts() -> None:
    builder = GroupTopologyBuilder().add_subtopology("0", sinks=[THROUGH.name], _has_patterns=True)
    topology = builder.add_subtopology("1", repartition_sources=[THROUGH]).build()
    assert [each.subtopology_id for each in topology.subtopologies] == ["1"]
    alone = GroupTopologyBuilder().add_subtopology("0", _has_patterns=True)
    assert alone.build().subtopologies == ()
    found = GroupTopologyBuilder().add_subtopology("0", sources=["in"], _has_patterns=True).build()
    assert [each.source_topics for each in found.subtopologies] == [("in",)]
