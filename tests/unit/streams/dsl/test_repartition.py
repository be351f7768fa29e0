"""Repartition topics."""

from typing import Any, cast

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, TopologyError
from kafka_groups.testing.topology_driver import TopologyTestDriver


@pytest.mark.parametrize(("partitions", "error"), [(0, TopologyError), (-1, TopologyError), (2**31, TopologyError),
                                                   (1.5, TypeError), (True, TypeError), ("4", TypeError)])  # fmt: skip
def test_repartition_takes_a_number_of_partitions(partitions: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=rf"^repartition: partitions={partitions!r} is not .*eave it out"):
        StreamsBuilder().stream("in", key=serdes.string, value=serdes.string).repartition(partitions=partitions)


def joined(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


def test_operators_that_need_the_same_topic_of_a_stream_share_it() -> None:
    builder = StreamsBuilder()
    text = serdes.string
    by_letter = builder.stream("in", key=text, value=text).select_key(lambda _, value: value[0], key=text)
    first, second = (builder.table(topic, key=text, value=text) for topic in ("first", "second"))
    by_letter.join(first, joined, value=text).to("out")
    by_letter.left_join(second, joined, value=text).to("out")
    grouped = by_letter.group_by_key(name="grouped")
    grouped.count().to_stream().to("counts")
    grouped.reduce(lambda _, value: value).to_stream().to("last")
    topology = builder.build()
    assert sorted(topology.graph.repartition_topics) == [
        "KSTREAM-KEY-SELECT-0000000001-repartition",
        "grouped-repartition",
    ]
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("first", text, text).pipe("a", "row")
        driver.input_topic("in", text, text).pipe("k", "ape")
        found = [record.value for record in driver.output_topic("out", text, text).read_all()]
        assert driver.output_topic("last", text, text).read().value == "ape"
    assert found == ["ape+row", "ape+None"]


def test_a_shared_topic_lets_null_keys_through_if_one_operator_wants_them() -> None:
    builder = StreamsBuilder()
    text, nothing = serdes.string, cast("str", None)
    without = builder.stream("in", key=text, value=text).select_key(lambda _key, _value: nothing, key=text)
    rows = builder.table("rows", key=text, value=text)
    without.join(rows, joined, value=text).to("out")
    without.left_join(rows, joined, value=text).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", text, text).pipe("k", "v")
        assert [record.value for record in driver.output_topic("out", text, text).read_all()] == ["v+None"]


def test_null_keys_that_a_topic_drops_are_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    builder = StreamsBuilder()
    text = serdes.string
    builder.stream("in", key=text, value=text).repartition(name="first").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", text, text).pipe(cast("str", None), "v")
        assert driver.dropped_records == {"first-repartition-filter": 1}
        assert not driver.records("test-first-repartition")
    assert "first-repartition-filter in task 0_0 dropped a record at in-0 offset 0: its key is null" in caplog.text


def test_a_join_that_is_added_after_a_build_counts_in_the_next_one() -> None:
    builder = StreamsBuilder()
    text = serdes.string
    stream = builder.stream("in", key=text, value=text).repartition(name="first")
    stream.to("out")
    found = []
    for _ in range(2):
        with TopologyTestDriver(builder.build()) as driver:
            driver.input_topic("in", text, text).pipe(cast("str", None), "v")
            found.append(len(driver.records("out")))
        if len(found) == 1:
            stream.left_join(builder.table("rows", key=text, value=text), joined, value=text).to("joined")
    assert found == [0, 1]


def test_a_topic_that_is_asked_for_twice_by_name_is_refused() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string, value=serdes.string)
    for topic in ("out", "other"):
        stream.repartition(name="same").to(topic)
    with pytest.raises(TopologyError, match="same-repartition"):
        builder.build()
