"""The process that has a key, by what the group tells."""

import re
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.records.partitioning import partition_of
from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams import KeyQueryMetadata, StoreNotAvailableError, StreamsBuilder, StreamsError, UserEndpoint
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.queries.placement import active_process, all_clients, input_topics, place_of_key
from kafka_groups.streams.workers.query_places import QueryPlaces
from kafka_groups.types import TopicPartition

TEXT = serdes.string
HERE, THERE = UserEndpoint(host="a", port=1), UserEndpoint(host="b", port=2)
REPARTITIONED = "app-words-repartition"


def graph() -> Any:
    builder = StreamsBuilder()
    lines = builder.stream("lines", key=TEXT, value=TEXT)
    lines.group_by_key().count(store="by-key")
    lines.group_by(lambda _, value: value, key=TEXT, value=TEXT, name="words").count(store="by-word")
    builder.global_table("names", key=TEXT, value=TEXT, store="names")
    return builder.build().graph


def parts(topic: str, *partitions: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, partition) for partition in partitions)


PLACES = QueryPlaces(
    {
        THERE: EndpointPartitions(parts("lines", 1) | parts(REPARTITIONED, 0), parts("lines", 0)),
        HERE: EndpointPartitions(parts("lines", 0), parts("lines", 1)),
    },
    {"lines": 2, REPARTITIONED: 2, "names": 1},
)


def asked(store: str, key: str, places: QueryPlaces = PLACES, partitioner: Any = None) -> KeyQueryMetadata:
    topology = graph()
    return place_of_key(topology, "app", topology.stores[store], key, partitioner, places)


def test_a_key_is_where_the_partition_of_its_hash_is() -> None:
    for key in ("x", "y", "z", "long enough"):
        partition = partition_of(key.encode(), 2)
        active, copy = (HERE, THERE) if partition == 0 else (THERE, HERE)
        assert asked("by-key", key) == KeyQueryMetadata(active, frozenset({copy}), partition)


def test_the_topics_of_a_store_are_those_of_its_own_sub_topology() -> None:
    by_partition = {asked("by-word", key).partition: asked("by-word", key) for key in "abcdef"}
    assert by_partition[0] == KeyQueryMetadata(THERE, frozenset(), 0)
    assert by_partition[1] == KeyQueryMetadata(None, frozenset(), 1), "its process has no address"


def test_a_partitioner_of_ones_own_decides() -> None:
    assert asked("by-key", "x", partitioner=lambda _topic, _key, value, partitions: partitions - 1).partition == 1
    assert asked("by-key", "x", partitioner=lambda *_: None) == asked("by-key", "x")
    with pytest.raises(StreamsError, match="chose partition 2 of topic 'app-by-key-changelog', which has 2 partitions"):
        asked("by-key", "x", partitioner=lambda *_: 2)
    with pytest.raises(StreamsError, match=r"The partitioner chose \[0, 1\] for a key"):
        asked("by-key", "x", partitioner=lambda *_: [0, 1])


def test_a_key_with_a_window_is_where_the_key_without_it_is() -> None:
    builder = StreamsBuilder()
    windowed = serdes.time_windowed(TEXT, timedelta(seconds=1))
    builder.stream("lines", key=windowed, value=TEXT).to_table(store="windowed")
    topology = builder.build().graph
    for start_ms in range(0, 9_000, 1_000):
        key = Windowed("x", Window(start_ms, start_ms + 1_000))
        found = place_of_key(topology, "app", topology.stores["windowed"], key, None, PLACES)
        assert found.partition == asked("by-key", "x").partition


def test_the_process_of_a_partition_is_the_one_with_the_active_task() -> None:
    topology = graph()
    at = [[active_process(topology, "app", store, at, PLACES) for at in (0, 1)] for store in ("by-key", "by-word")]
    assert at == [[HERE, THERE], [THERE, None]]
    assert active_process(topology, "app", "by-key", 0, QueryPlaces()) is None


def test_a_global_store_is_everywhere() -> None:
    with pytest.raises(StreamsError, match="'names' is a global store: every process has all of it"):
        asked("names", "x")


def test_nothing_is_known_before_the_first_tasks() -> None:
    with pytest.raises(StoreNotAvailableError, match=r"not known yet \(lines\)\. Call wait_until_running first"):
        asked("by-key", "x", QueryPlaces())


def test_processes_come_in_the_order_of_their_addresses() -> None:
    here, there = all_clients(PLACES)
    assert (here.host, here.active, here.standby) == (HERE, parts("lines", 0), parts("lines", 1))
    assert there.host == THERE


def test_the_topics_of_a_pattern_are_those_that_exist() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("lines-.*"), key=TEXT, value=TEXT).group_by_key().count(store="by-key")
    topology = builder.build().graph
    assert input_topics(topology, "app", "by-key", ["lines-2", "other", "lines-1"]) == ["lines-1", "lines-2"]
    places = QueryPlaces({HERE: EndpointPartitions(parts("lines-2", 0, 1))}, {"lines-1": 1, "lines-2": 2, "other": 9})
    found = place_of_key(topology, "app", topology.stores["by-key"], "x", None, places)
    assert found == KeyQueryMetadata(HERE, frozenset(), partition_of(b"x", 2))
    assert active_process(topology, "app", "by-key", 1, places) == HERE
