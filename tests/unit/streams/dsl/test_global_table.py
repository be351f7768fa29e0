"""Global tables and global stores, as the test driver runs them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import (
    KeyValueStore,
    Record,
    StreamsBuilder,
    StreamsError,
    TimestampedKeyValueStore,
    Topology,
    TopologyError,
    stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)


def both(left: str, right: str | None) -> str:
    return f"{left}+{right}"


def first_letter(_key: str, value: str) -> str | None:
    return value[0] if value else None


def keep(record: Record[str, str], store: KeyValueStore[str, str]) -> None:
    store.put(record.key, record.value.upper())


def look_up(record: Record[str, str], store: KeyValueStore[str, str]) -> Iterator[Record[str, str]]:
    yield Record(record.key, f"{record.value}+{store.get(record.key)}", record.timestamp_ms)


def write(record: Record[str, str], store: KeyValueStore[str, str]) -> None:
    store.put(record.key, record.value)


def with_global_store() -> StreamsBuilder:
    builder = StreamsBuilder()
    builder.add_global_store(SEEN, "global", keep, key=TEXT, value=TEXT)
    return builder


@pytest.mark.parametrize(
    ("word", "expected"), [("join", ["apple+row"]), ("left_join", ["apple+row", "banana+None", "+None"])]
)
def test_a_stream_is_joined_with_the_rows_of_a_global_table_by_any_key(word: str, expected: list[str]) -> None:
    builder = StreamsBuilder()
    rows = builder.global_table("rows", key=TEXT, value=TEXT, store="kept")
    stream = builder.stream("in", key=TEXT, value=TEXT)
    joined = (
        stream.join(rows, both, on=first_letter) if word == "join" else stream.left_join(rows, both, on=first_letter)
    )
    joined.to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("rows", TEXT, TEXT).pipe("a", "row", timestamp_ms=50)
        into = driver.input_topic("in", TEXT, TEXT)
        for value in ("apple", "banana", ""):
            into.pipe("any", value, timestamp_ms=7)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
        assert [(record.value, record.timestamp_ms) for record in found] == [(value, 7) for value in expected]
        assert driver.store("kept").get("a") == "row"
        assert driver.topics == ("out",)  # a global table has no changelog but its topic
    assert rows.store_name == "kept"


def test_on_belongs_to_global_tables() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match="needs `on=`"):
        stream.join(builder.global_table("global", key=TEXT, value=TEXT), both)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="is for global tables"):
        stream.join(builder.table("rows", key=TEXT, value=TEXT), both, on=first_letter)  # type: ignore[call-overload]


def test_every_processor_reads_a_global_store() -> None:
    builder = with_global_store()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.process(look_up, stores=[SEEN], key=TEXT, value=TEXT).to("out")
    topology = builder.build()
    assert "for global store (will not generate tasks)" in topology.describe()
    assert [each.subtopology_id for each in topology.group_topology("app").to_wire().subtopologies] == ["1"]
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("global", TEXT, TEXT).pipe("k", "row", timestamp_ms=0)
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", timestamp_ms=0)
        assert driver.output_topic("out", TEXT, TEXT).read().value == "v+ROW"


def test_a_task_cannot_write_to_a_global_store() -> None:
    builder = with_global_store()
    builder.stream("in", key=TEXT, value=TEXT).process(write, stores=["seen"])
    with TopologyTestDriver(builder.build()) as driver:
        with pytest.raises(StreamsError, match="'seen' is global"):
            driver.input_topic("in", TEXT, TEXT).pipe("k", "v", timestamp_ms=0)
        assert driver.store(SEEN).get("k") is None


def test_a_topology_gets_a_global_store_node_by_node() -> None:
    topology = Topology().add_source("source", "in", key=TEXT, value=TEXT)

    def add(name: str) -> None:
        topology.add_global_store(SEEN, "global", keep, source=name, processor="keeper", key=TEXT, value=TEXT)

    add("globals")
    with pytest.raises(TopologyError, match="two stores 'seen'"):
        add("others")
    topology.add_processor("lookup", look_up, parents=["source"], stores=["seen"])
    topology.add_sink("sink", "out", parents=["lookup"], key=TEXT, value=TEXT)
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("global", TEXT, TEXT).pipe("k", "row", timestamp_ms=0)
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", timestamp_ms=0)
        assert driver.output_topic("out", TEXT, TEXT).read().value == "v+ROW"


def test_a_processor_reads_the_timestamps_of_a_global_table() -> None:
    def timed(record: Record[str, str], store: TimestampedKeyValueStore[str, str]) -> Iterator[Record[str, str]]:
        found = store.get(record.key)
        assert found is not None
        yield Record(record.key, found.value, found.timestamp_ms)

    builder = StreamsBuilder()
    builder.global_table("rows", key=TEXT, value=TEXT, store="kept")
    builder.stream("in", key=TEXT, value=TEXT).process(timed, stores=["kept"], key=TEXT, value=TEXT).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("rows", TEXT, TEXT).pipe("k", "row", timestamp_ms=5)
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", timestamp_ms=7)
        found = driver.output_topic("out", TEXT, TEXT).read()
    assert (found.value, found.timestamp_ms) == ("row", 5)


def test_the_topic_of_a_read_only_store_is_its_changelog() -> None:
    topology = Topology().add_source("source", "in", key=TEXT, value=TEXT)
    topology.add_read_only_state_store(
        SEEN, "table", keep, source="looked-up", processor="keeper", key=TEXT, value=TEXT
    )
    topology.add_processor("lookup", look_up, parents=["source"], stores=["seen"])
    topology.add_sink("sink", "out", parents=["lookup"], key=TEXT, value=TEXT)
    (subtopology,) = topology.group_topology("app").to_wire().subtopologies
    assert [each.name for each in subtopology.state_changelog_topics] == ["table"]
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("table", TEXT, TEXT).pipe("k", "row", timestamp_ms=0)
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", timestamp_ms=0)
        assert driver.output_topic("out", TEXT, TEXT).read().value == "v+ROW"
        assert driver.topics == ("out",)


def test_a_global_table_cannot_be_versioned() -> None:
    kept: Any = stores.versioned("kept", TEXT, TEXT, history=timedelta(seconds=1))
    with pytest.raises(ConfigurationError, match=r"store='kept' is a versioned store, .* stores\.key_value"):
        StreamsBuilder().global_table("in", key=TEXT, value=TEXT, store=kept)
