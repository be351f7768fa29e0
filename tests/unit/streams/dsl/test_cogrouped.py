"""Streams that are aggregated together, as the test driver runs them."""

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string


def plus(_key: str, value: str, result: str) -> str:
    return f"{result}+{value}"


def minus(_key: str, value: str, result: str) -> str:
    return f"{result}-{value}"


@pytest.mark.parametrize("name", [None, "both"])
def test_streams_are_aggregated_together(name: str | None) -> None:
    builder = StreamsBuilder()
    ups = builder.stream("ups", key=TEXT, value=TEXT).group_by_key()
    downs = builder.stream("downs", key=TEXT, value=TEXT).group_by(lambda _key, value: value[0], key=TEXT)
    together = ups.cogroup(plus).cogroup(downs, minus)
    table = together.aggregate(lambda: "", value=TEXT, store="together", name=name)
    table.to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("ups", TEXT, TEXT).pipe("k", "1", timestamp_ms=9)
        driver.input_topic("downs", TEXT, TEXT).pipe("other", "k2", timestamp_ms=3)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
        assert driver.store("together").get("k") == "+1-k2"
        assert "test-together-repartition" in driver.topics
    assert [(record.key, record.value, record.timestamp_ms) for record in found] == [("k", "+1", 9), ("k", "+1-k2", 9)]
    assert table.store_name == "together"


def test_a_result_is_regrouped_by_old_and_new_values() -> None:
    builder = StreamsBuilder()
    ups = builder.stream("ups", key=TEXT, value=TEXT).group_by_key()
    downs = builder.stream("downs", key=TEXT, value=TEXT).group_by_key()
    table = ups.cogroup(plus).cogroup(downs, minus).aggregate(lambda: "", value=TEXT)
    counts = table.group_by(lambda key, value: (str(len(value)), key), key=TEXT, value=TEXT).count(store="counts")
    assert counts.store_name == "counts"
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("ups", TEXT, TEXT).pipe("k", "1", timestamp_ms=0)
        driver.input_topic("downs", TEXT, TEXT).pipe("k", "1", timestamp_ms=0)
        assert dict(driver.store("counts").all()) == {"2": 0, "4": 1}
