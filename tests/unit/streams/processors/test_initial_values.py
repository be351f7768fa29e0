"""Initializers that return one object for all keys: refused once an aggregator has changed it, and only then."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    KGroupedStream,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsError,
    TimeWindows,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT, LIST = serdes.string, serdes.json(list[str])
MINUTE = timedelta(minutes=1)

Initializer = Callable[[], list[str]]
Aggregator = Callable[[str, str, list[str]], list[str]]


def changing(_key: str, value: str, aggregate: list[str]) -> list[str]:
    aggregate.append(value)
    return aggregate


def copying(_key: str, value: str, aggregate: list[str]) -> list[str]:
    return [*aggregate, value]


def joining(_key: str, one: list[str], other: list[str]) -> list[str]:
    return [*one, *other]


def stream(grouped: KGroupedStream[str, str], initializer: Initializer, aggregator: Aggregator) -> Any:
    return grouped.aggregate(initializer, aggregator, value=LIST)


def cogrouped(grouped: KGroupedStream[str, str], initializer: Initializer, aggregator: Aggregator) -> Any:
    return grouped.cogroup(aggregator).aggregate(initializer, value=LIST)


def windows(grouped: KGroupedStream[str, str], initializer: Initializer, aggregator: Aggregator) -> Any:
    return grouped.windowed_by(TimeWindows(MINUTE, grace=MINUTE)).aggregate(initializer, aggregator, value=LIST)


def sliding(grouped: KGroupedStream[str, str], initializer: Initializer, aggregator: Aggregator) -> Any:
    return grouped.windowed_by(SlidingWindows(MINUTE, grace=MINUTE)).aggregate(initializer, aggregator, value=LIST)


def sessions(grouped: KGroupedStream[str, str], initializer: Initializer, aggregator: Aggregator) -> Any:
    windowed = grouped.windowed_by(SessionWindows(MINUTE, grace=MINUTE))
    return windowed.aggregate(initializer, aggregator, joining, value=LIST)


def collected(aggregate: Callable[..., Any], initializer: Initializer, aggregator: Aggregator) -> list[list[str]]:
    """The results of a record of each of two keys."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=TEXT, value=TEXT).group_by_key()
    aggregate(grouped, initializer, aggregator).to_stream().map(lambda _, value: ("k", value), key=TEXT).to(
        "out", key=TEXT, value=LIST
    )
    with TopologyTestDriver(builder.build()) as driver:
        topic = driver.input_topic("in", TEXT, TEXT)
        for key in ("a", "b"):
            topic.pipe(key, key.upper(), timestamp_ms=120_000)
        return written(driver, LIST)


def written(driver: TopologyTestDriver, value: serdes.Serde[Any]) -> list[Any]:
    return [record.value for record in driver.output_topic("out", TEXT, value).read_all()]


ALL = pytest.mark.parametrize("aggregate", [stream, cogrouped, windows, sliding, sessions])


@ALL
def test_an_object_that_another_key_has_changed_is_refused(aggregate: Callable[..., Any]) -> None:
    shared: list[str] = []
    message = r"The initializer .*<lambda>.* returns the same object again, and the aggregator has changed it"
    with pytest.raises(StreamsError, match=message):
        collected(aggregate, lambda: shared, changing)


@ALL
def test_an_object_that_nobody_changes_may_serve_all_keys(aggregate: Callable[..., Any]) -> None:
    shared: list[str] = []
    assert collected(aggregate, lambda: shared, copying) == [["A"], ["B"]]


@ALL
def test_new_objects_may_be_changed(aggregate: Callable[..., Any]) -> None:
    assert collected(aggregate, list, changing) == [["A"], ["B"]]


def test_aggregations_of_tables_are_checked_too() -> None:
    def build(initializer: Initializer, adder: Aggregator) -> list[list[str]]:
        builder = StreamsBuilder()
        grouped = builder.table("in", key=TEXT, value=TEXT).group_by(
            lambda key, value: (key, value), key=TEXT, value=TEXT
        )
        grouped.aggregate(initializer, adder, lambda _key, _value, rest: rest, value=LIST).to_stream().to("out")
        with TopologyTestDriver(builder.build()) as driver:
            topic = driver.input_topic("in", TEXT, TEXT)
            for key in ("a", "b"):
                topic.pipe(key, key.upper())
            return written(driver, LIST)

    shared: list[str] = []
    assert build(list, changing) == build(lambda: shared, copying) == [["A"], ["B"]]
    with pytest.raises(StreamsError, match="returns the same object again"):
        build(lambda: shared, changing)


def test_values_that_cannot_change_are_shared_without_a_look() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=TEXT, value=TEXT).group_by_key()
    grouped.aggregate(lambda: 0, lambda _key, _value, count: count, value=serdes.int64).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for key in "ab":
            driver.input_topic("in", TEXT, TEXT).pipe(key, "x")
        assert written(driver, serdes.int64) == [0, 0]


def test_an_initial_value_that_the_serde_does_not_write_is_not_compared() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=TEXT, value=TEXT).group_by_key()
    shared: dict[str, str] = {}
    grouped.aggregate(lambda: shared, lambda _key, value, _all: [value], value=LIST).to_stream().to("out")  # type: ignore[arg-type, return-value]
    with TopologyTestDriver(builder.build()) as driver:
        for key in "ab":
            driver.input_topic("in", TEXT, TEXT).pipe(key, key)
        assert written(driver, LIST) == [["a"], ["b"]]


def test_an_object_that_its_own_key_has_changed_is_no_old_value() -> None:
    builder = StreamsBuilder()
    shared: list[str] = []
    grouped = builder.stream("in", key=TEXT, value=TEXT).group_by_key()
    table = grouped.aggregate(lambda: shared, changing, value=LIST, caching=False)
    lengths = table.group_by(lambda _, values: ("all", len(values)), key=TEXT, value=serdes.int64)
    lengths.reduce(lambda one, other: one + other, lambda one, other: one - other)
    with TopologyTestDriver(builder.build()) as driver:
        topic = driver.input_topic("in", TEXT, TEXT)
        with pytest.raises(StreamsError, match=r"KSTREAM-AGGREGATE-\w+ in task 0_0 failed .* the same object again"):
            topic.pipe("a", "A")
