"""The driver of topologies: times, restarts, and what it refuses."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KeyValueStore, Record, StreamsBuilder, StreamsError, Topology, TopologyError, stores
from kafka_groups.testing.topology_driver import CapturedRecord, TopologyTestDriver

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)
FORGOTTEN = stores.key_value("forgotten", TEXT, TEXT, changelog=False)


def remember(
    record: Record[str, str], seen: KeyValueStore[str, str], forgotten: KeyValueStore[str, str]
) -> Iterator[Record[str, str]]:
    before = seen.get(record.key), forgotten.get(record.key)
    seen.put(record.key, record.value)
    forgotten.put(record.key, record.value)
    yield record.with_value(f"{before}")


def counting() -> Topology:
    builder = StreamsBuilder()
    names = builder.global_table("names", key=TEXT, value=TEXT, store="names")
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.group_by_key().count(store="counts").to_stream().to("counts-out")
    stream.join(names, lambda value, name: value + name, on=lambda key, _: key).to("named", value=TEXT)
    stream.process(remember, stores=(SEEN, FORGOTTEN), key=TEXT, value=TEXT).to("out")
    return builder.build()


def test_a_restart_keeps_what_changelogs_and_global_topics_have() -> None:
    with TopologyTestDriver(counting()) as driver:
        driver.input_topic("names", TEXT, TEXT).pipe("k", "!")
        into = driver.input_topic("in", TEXT, TEXT)
        into.pipe("k", "a")
        driver.restart()
        assert driver.store("counts").get("k") == 1
        into.pipe("k", "b")
        assert driver.store("counts").get("k") == 2
        assert [record.value for record in driver.records("named")] == [b"a!", b"b!"]
        assert [record.value for record in driver.records("out")] == [b"(None, None)", b"('a', None)"]


def test_a_driver_that_is_closed_takes_nothing() -> None:
    driver = TopologyTestDriver(counting())
    into = driver.input_topic("in", TEXT, TEXT)
    driver.close()
    with pytest.raises(StreamsError, match="The driver is closed"):
        into.pipe("k", "v")
    with pytest.raises(StreamsError, match="The driver is closed"):
        driver.restart()


def test_what_a_topology_does_not_have_is_named_with_what_it_has() -> None:
    with TopologyTestDriver(counting()) as driver:
        with pytest.raises(LookupError, match=r"does not read topic 'x'\. It reads: in, names"):
            driver.input_topic("x", TEXT, TEXT)
        with pytest.raises(LookupError, match=r"has no store 'x'\. Its stores are: counts, forgotten, names, seen"):
            driver.store("x")
        with pytest.raises(LookupError, match="Output topic 'out' has no more records: 0 were read"):
            driver.output_topic("out", TEXT, TEXT).read()
        with pytest.raises(ValueError, match="cannot go back by"):
            driver.advance_wall_clock(timedelta(seconds=-1))


def test_records_without_a_timestamp_have_the_time_of_the_clock() -> None:
    with TopologyTestDriver(counting(), wall_ms=1000) as driver:
        driver.advance_wall_clock(timedelta(seconds=2))
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v")
        (record,) = driver.output_topic("out", TEXT, TEXT).read_all()
    assert record.timestamp_ms == 3000


def test_records_that_operators_drop_are_counted_by_node() -> None:
    with TopologyTestDriver(counting()) as driver:
        into = driver.input_topic("in", TEXT, TEXT)
        into.pipe("k", "v")
        assert driver.dropped_records == {}
        driver.input_topic("names", TEXT, TEXT).pipe(None, "x")
        assert driver.dropped_records == {"KTABLE-SOURCE-0000000001": 1}


def test_an_empty_topology_is_refused() -> None:
    with pytest.raises(TopologyError, match="The topology is empty"):
        TopologyTestDriver(StreamsBuilder().build())


def test_records_go_to_a_function_and_are_not_kept() -> None:
    builder = StreamsBuilder()
    texts = builder.stream("texts", key=serdes.string, value=serdes.string)
    texts.group_by_key().count(store="counts").to_stream().to("numbers")
    written: list[CapturedRecord] = []
    with TopologyTestDriver(builder.build(), on_record=written.append) as driver:
        driver.input_topic("texts", serdes.string, serdes.string).pipe("a", "x", timestamp_ms=5)
        assert (driver.topics, driver.records("numbers")) == ((), ())
        assert driver.store("counts").get("a") == 1
        with pytest.raises(StreamsError, match="keeps no records"):
            driver.restart()
    one = (1).to_bytes(8, "big")
    assert [(record.topic, record.key, record.value) for record in written if record.topic == "numbers"] == [
        ("numbers", b"a", one)
    ]
    assert {record.topic for record in written} == {"numbers", "test-counts-changelog"}
