"""Topologies: which are refused, and what is read off them."""

import pytest

from kafka_groups.broker.coordinators.groups.streams.topologies.topology import (
    check_topic_names,
    check_topology,
    topology_of,
)
from kafka_groups.errors import BrokerError, InvalidRequestError, StreamsInvalidTopologyError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology
from tests.support.members.streams_topologies import WORD_COUNT, internal, sent, subtopology, together


def test_word_count_is_valid_and_needs_three_topics() -> None:
    check_topic_names(WORD_COUNT)
    check_topology(WORD_COUNT)
    topology = topology_of(WORD_COUNT)

    assert topology.required_topics == ("app-counts-changelog", "app-words-repartition", "lines")
    assert topology.readers == {"lines": "0", "app-words-repartition": "1"}
    assert [info.name for info in topology.repartition_topics] == ["app-words-repartition"]


def test_the_order_of_subtopologies_does_not_matter() -> None:
    turned = sent(*reversed(WORD_COUNT.subtopologies))

    assert topology_of(turned) == topology_of(WORD_COUNT)
    assert topology_of(sent(*WORD_COUNT.subtopologies, epoch=1)) != topology_of(WORD_COUNT)


@pytest.mark.parametrize(
    "part",
    [
        subtopology(sources=("__consumer_offsets",)),
        subtopology(sources=("a",), sinks=("no topic",)),
        subtopology(sources=("a",), changelogs=(internal(""),)),
        subtopology(repartitions=(internal("x" * 250),)),
    ],
    ids=["internal", "characters", "empty", "long"],
)
def test_topics_must_have_valid_names(part: StreamsSubtopology) -> None:
    with pytest.raises(StreamsInvalidTopologyError, match=r"internal topic|invalid topic"):
        check_topic_names(sent(part))


def test_a_topic_with_two_underscores_is_a_topic_like_others() -> None:
    check_topic_names(sent(subtopology(sources=("__mine",))))


@pytest.mark.parametrize(
    ("topology", "error", "told"),
    [
        (sent(subtopology(sources=("a",)), epoch=-1), InvalidRequestError, "negative"),
        (sent(StreamsSubtopology(subtopology_id="0", source_topic_regex=("a.*",))), InvalidRequestError, "regular"),
        (
            sent(subtopology(sources=("a",), changelogs=(internal("c", 3),))),
            StreamsInvalidTopologyError,
            "Changelog topic c has 3 partitions",
        ),
        (sent(subtopology("7"), subtopology("7")), StreamsInvalidTopologyError, "2 sub-topologies with the id 7"),
        (
            sent(subtopology(sources=("a",), together=(together(0, 1),))),
            StreamsInvalidTopologyError,
            "position 1 in a list of 1 topics",
        ),
        (
            sent(subtopology(sources=("a",), together=(together(0, repartitions=(-1,)),))),
            StreamsInvalidTopologyError,
            "position -1 in a list of 0 topics",
        ),
    ],
    ids=["epoch", "regex", "changelog", "twice", "source", "repartition"],
)
def test_what_is_refused(topology: StreamsGroupHeartbeatTopology, error: type[BrokerError], told: str) -> None:
    with pytest.raises(error, match=told):
        check_topology(topology)
