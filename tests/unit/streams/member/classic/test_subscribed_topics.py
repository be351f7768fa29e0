"""The topics that a member subscribes to, as its metadata shows them."""

import re
from functools import partial

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, TopologyError
from kafka_groups.streams.member.classic.subscribed_topics import SubscribedTopics, SubscriptionChanges
from kafka_groups.streams.topology.matched_topics import pattern_sources
from tests.unit.streams.member.classic.driven import TOPOLOGY

TEXT = serdes.string


def subscribed(*patterns: str) -> SubscribedTopics:
    builder = StreamsBuilder()
    for pattern in patterns:
        builder.stream(re.compile(pattern), key=TEXT, value=TEXT).to("out")
    builder.stream("in", key=TEXT, value=TEXT).to("out")
    sources = pattern_sources(builder.build().graph, "app")
    assert sources is not None
    return SubscribedTopics(sources.topology_of(()), sources)


def test_without_patterns_the_topics_are_those_of_the_topology() -> None:
    topics = SubscribedTopics(TOPOLOGY, None)
    assert topics.names == {"in", "in2", "r"}
    topics.joining()
    assert topics.is_fresh
    assert not topics.has_patterns
    assert not topics.saw(["in", "p-1"])
    topics.learn(["p-1"])
    assert topics.topology_with(["p-1"]) is TOPOLOGY
    assert topics.without_topics() == ()


def test_topics_come_and_go() -> None:
    topics = subscribed("p-.*")
    assert topics.names == {"in"}
    assert topics.saw(["in", "p-2", "p-1", "q"]) == SubscriptionChanges(("p-1", "p-2"), ())
    assert topics.names == {"in", "p-1", "p-2"}
    assert not topics.saw(["p-1", "p-2", "q-2"])
    assert topics.saw(["p-3", "p-1"]) == SubscriptionChanges(("p-3",), ("p-2",))
    assert topics.names == {"in", "p-1", "p-3"}


def test_a_round_needs_topics_that_were_seen_since_it_began() -> None:
    topics = subscribed("p-.*")
    known = [topics.is_fresh]
    for change in (partial(topics.saw, []), topics.joining):
        change()
        known.append(topics.is_fresh)
    assert known == [False, True, False]


def test_topics_that_others_have_found_count_until_the_metadata_shows_otherwise() -> None:
    topics = subscribed("p-.*")
    topics.saw(["p-1"])
    topics.learn(["p-2", "q"])
    assert topics.names == {"in", "p-1", "p-2"}
    assert topics.saw(["p-1"]) == SubscriptionChanges((), ("p-2",))


def test_topics_beside_those_that_are_subscribed_to_are_known_only_for_once() -> None:
    topics = subscribed("p-.*")
    topics.saw(["p-1"])
    assert {name for each in topics.topology_with(["p-9"]).subtopologies for name in each.source_topics} == {
        "in", "p-1", "p-9",
    }  # fmt: skip
    assert topics.names == {"in", "p-1"}


def test_patterns_without_topics_are_told_once() -> None:
    topics = subscribed("p-.*", "q-.*")
    topics.saw(["q-1"])
    assert [topics.without_topics() for _ in range(2)] == [("p-.*",), ()]
    topics.saw([])
    assert topics.without_topics() == ("p-.*", "q-.*")
    topics.saw(["p-1", "q-1"])
    assert topics.without_topics() == ()
    topics.saw(["q-1"])
    assert topics.without_topics() == ("p-.*",)


def test_a_topic_of_two_sources_changes_nothing() -> None:
    topics = subscribed("p-.*", ".*-1")
    topics.saw(["p-2"])
    with pytest.raises(TopologyError, match="'p-1'"):
        topics.saw(["p-1"])
    assert topics.names == {"in", "p-2"}
