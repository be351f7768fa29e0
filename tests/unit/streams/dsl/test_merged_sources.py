"""Streams of the same topics share one source."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KStream, StreamsBuilder, TopologyError
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string


def stream(builder: StreamsBuilder, *topics: str, **options: Any) -> KStream[str, str]:
    return builder.stream(*(topics or ("in",)), key=TEXT, value=TEXT, **options)


def test_each_of_two_streams_has_all_records() -> None:
    builder = StreamsBuilder()
    stream(builder, name="first").map_values(str.upper, value=TEXT).to("one")
    stream(builder, name="second").to("two")
    for _ in range(2):  # a topology can be built again
        topology = builder.build()
        assert "first (topics: [in])" in topology.describe()
        assert "second" not in topology.describe()
        with TopologyTestDriver(topology) as driver:
            driver.input_topic("in", TEXT, TEXT).pipe("k", "v")
            found = [driver.output_topic(topic, TEXT, TEXT).read().value for topic in ("one", "two")]
        assert found == ["V", "v"]


def late(_record: object, partition_ms: int) -> int:
    return partition_ms


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("offset_reset", "latest"), ("offset_reset", timedelta(hours=1)), ("timestamp", late), ("value", serdes.int64)],
)
def test_streams_of_a_topic_are_read_in_one_way(keyword: str, value: Any) -> None:
    builder = StreamsBuilder()
    stream(builder).to("one")
    builder.stream("in", **{"key": TEXT, "value": TEXT, keyword: value}).to("two")
    with pytest.raises(TopologyError, match=rf"stream\('in'\) is read twice, with {keyword}=.*: give both the same"):
        builder.build()


@pytest.mark.parametrize(
    "read",
    [
        lambda builder: stream(builder, "in", "other").to("two"),
        lambda builder: builder.table("in", key=TEXT, value=TEXT).to_stream().to("two"),
        lambda builder: builder.global_table("in", key=TEXT, value=TEXT),
    ],
)
def test_other_ways_to_read_a_topic_twice_are_refused(read: Callable[[StreamsBuilder], object]) -> None:
    builder = StreamsBuilder()
    stream(builder).to("one")
    read(builder)
    with pytest.raises(TopologyError, match=r"reads topic 'in', which .* reads already\. Read it once"):
        builder.build()


def test_a_stream_that_is_merged_with_itself_has_each_record_once() -> None:
    builder = StreamsBuilder()
    stream(builder).merge(stream(builder)).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v")
        assert len(driver.output_topic("out", TEXT, TEXT).read_all()) == 1


def test_streams_of_a_pattern_are_read_in_one_way() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*"), key=TEXT, value=TEXT).to("one")
    builder.stream(re.compile("in-.*"), key=TEXT, value=TEXT, offset_reset="latest").to("two")
    with pytest.raises(
        TopologyError, match=r"stream\(re\.compile\('in-\.\*'\)\) is read twice, with offset_reset=None"
    ):
        builder.build()
