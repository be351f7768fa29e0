"""Topics that Kafka refuses, and what is no serde, are refused where they are given."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KStream, StreamsBuilder, Topology, TopologyError, stores

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)


def stream(builder: StreamsBuilder, topic: str = "in") -> KStream[Any, Any]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def table(builder: StreamsBuilder, topic: str = "table") -> object:
    return builder.table(topic, key=TEXT, value=TEXT)


TOPICS: dict[str, Callable[[StreamsBuilder, Any], object]] = {
    "stream": stream,
    "table": table,
    "global_table": lambda b, topic: b.global_table(topic, key=TEXT, value=TEXT),
    "add_global_store": lambda b, topic: b.add_global_store(SEEN, topic, max, key=TEXT, value=TEXT),
    "to": lambda b, topic: stream(b).to(topic),
    "repartition": lambda b, topic: stream(b).repartition(name=topic),
    "add_source": lambda _, topic: Topology().add_source("in", topic, key=TEXT, value=TEXT),
    "add_sink": lambda _, topic: Topology().add_source("in", "in", key=TEXT, value=TEXT).add_sink(
        "out", topic, parents=["in"], key=TEXT, value=TEXT),
}  # fmt: skip


@pytest.mark.parametrize("name", TOPICS)
@pytest.mark.parametrize("topic", ["", "a b", "ä", "x" * 250, "user/clicks"])
def test_topics_that_kafka_refuses_are_refused_where_they_are_given(name: str, topic: str) -> None:
    with pytest.raises(TopologyError, match="has the invalid topic name"):
        TOPICS[name](StreamsBuilder(), topic)


def test_kafkas_own_topics_dots_and_other_types_are_no_topics() -> None:
    for topic, message in (("__consumer_offsets", "internal topic of Kafka"), (".", "invalid"), (5, "Use a string")):
        with pytest.raises(TopologyError, match=message):
            stream(StreamsBuilder(), topic)  # type: ignore[arg-type]
    with pytest.raises(TopologyError, match="Source 'KSTREAM-SOURCE-0000000000' reads no topic"):
        StreamsBuilder().stream(key=TEXT, value=TEXT)


def test_what_is_no_serde_is_refused_where_it_is_given() -> None:
    wrong: Any = str
    with pytest.raises(TypeError, match=r"Source 'KSTREAM-SOURCE-0000000000': key=<class 'str'> is not a serde"):
        StreamsBuilder().stream("in", key=wrong, value=TEXT)
    with pytest.raises(TypeError, match=r"Sink 'KSTREAM-SINK-0000000001': value=<class 'str'> is not a serde"):
        stream(StreamsBuilder()).to("out", value=wrong)


def test_sources_say_where_to_begin_in_their_topics() -> None:
    builder = StreamsBuilder()
    builder.stream("early", "also-early", key=TEXT, value=TEXT, offset_reset="earliest")
    builder.stream("lately", key=TEXT, value=TEXT, offset_reset=timedelta(hours=1))
    builder.stream("somewhere", key=TEXT, value=TEXT)
    builder.table("table", key=TEXT, value=TEXT, offset_reset="none")
    topology = builder.build().add_source("late", "late", key=TEXT, value=TEXT, offset_reset="latest")
    assert topology.graph.offset_resets == {
        "early": "earliest",
        "also-early": "earliest",
        "lately": timedelta(hours=1),
        "table": "none",
        "late": "latest",
    }


@pytest.mark.parametrize("given", ["Earliest", "by_duration:PT1H", "", 5, timedelta(seconds=-1), object()])
def test_another_offset_reset_is_refused_where_it_is_given(given: Any) -> None:
    reads: list[Callable[[], object]] = [
        lambda: StreamsBuilder().stream("in", key=TEXT, value=TEXT, offset_reset=given),
        lambda: StreamsBuilder().table("in", key=TEXT, value=TEXT, offset_reset=given),
        lambda: Topology().add_source("read", "in", key=TEXT, value=TEXT, offset_reset=given),
    ]
    for read in reads:
        with pytest.raises(
            TopologyError, match=r"offset_reset=.* does not name a place to begin\. Give 'earliest', 'latest'"
        ):
            read()
