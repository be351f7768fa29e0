"""Streams that are aggregated together by windows, as the test driver runs them."""

from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    CogroupedKStream,
    KTable,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Windowed,
    stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.unit.streams.dsl.test_windowed import written

TEXT = serdes.string
SIZE, NO_GRACE = timedelta(milliseconds=100), timedelta(0)

Records = list[tuple[str, str, int]]


def cogrouped(builder: StreamsBuilder) -> CogroupedKStream[str, str]:
    ups = builder.stream("ups", key=TEXT, value=TEXT).group_by_key()
    downs = builder.stream("downs", key=TEXT, value=TEXT).group_by_key()
    return ups.cogroup(lambda _, value, found: f"{found}+{value}").cogroup(
        downs, lambda _, value, found: f"{found}-{value}"
    )


def empty() -> str:
    return ""


def joined(_key: str, left: str, right: str) -> str:
    return f"{left}|{right}"


def results(builder: StreamsBuilder, table: KTable[Windowed[str], str], records: Records, cache: int) -> list[str]:
    """Return results of records: topic, value, time."""
    with TopologyTestDriver(written(builder, table), statestore_cache_max_bytes=cache) as driver:
        for topic, value, timestamp_ms in records:
            driver.input_topic(topic, TEXT, TEXT).pipe("k", value, timestamp_ms=timestamp_ms)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
    return [f"{each.key}={each.value} at {each.timestamp_ms}" for each in found]


@pytest.mark.parametrize("cache", [0, 1000])
def test_streams_are_aggregated_together_in_tumbling_windows(cache: int) -> None:
    builder = StreamsBuilder()
    table = cogrouped(builder).windowed_by(TimeWindows(SIZE, grace=NO_GRACE)).aggregate(empty, value=TEXT)
    records = [("ups", "a", 10), ("downs", "b", 5), ("ups", "c", 100)]
    assert results(builder, table, records, cache) == [
        "[k@0/100]=+a at 10",
        "[k@0/100]=+a-b at 10",
        "[k@100/200]=+c at 100",
    ]


@pytest.mark.parametrize("cache", [0, 1000])
def test_streams_are_aggregated_together_in_sliding_windows(cache: int) -> None:
    builder = StreamsBuilder()
    table = cogrouped(builder).windowed_by(SlidingWindows(SIZE, grace=NO_GRACE)).aggregate(empty, value=TEXT)
    records = [("ups", "a", 150), ("downs", "b", 200)]
    assert results(builder, table, records, cache) == [
        "[k@50/150]=+a at 150",
        "[k@151/251]=-b at 200",
        "[k@100/200]=+a-b at 200",
    ]


@pytest.mark.parametrize("cache", [0, 1000])
def test_streams_are_aggregated_together_in_sessions(cache: int) -> None:
    builder = StreamsBuilder()
    windows = SessionWindows(SIZE, grace=NO_GRACE)
    table = cogrouped(builder).windowed_by(windows).aggregate(empty, joined, value=TEXT)
    records = [("ups", "a", 0), ("downs", "b", 100)]
    assert results(builder, table, records, cache) == [
        "[k@0/0]=+a at 0",
        "[k@0/0]=None at 0",
        "[k@0/100]=|+a-b at 100",
    ]


def test_results_can_wait_until_windows_close() -> None:
    builder = StreamsBuilder()
    table = cogrouped(builder).windowed_by(TimeWindows(SIZE, grace=NO_GRACE)).aggregate(empty, value=TEXT)
    records = [("ups", "a", 10), ("downs", "b", 5), ("ups", "c", 100)]
    final = table.suppress(Suppressed.until_window_closes())
    assert results(builder, final, records, 0) == ["[k@0/100]=+a-b at 10"]


def test_stores_can_be_named_defined_and_queried() -> None:
    builder = StreamsBuilder()
    kept = timedelta(seconds=1)
    sums = stores.window("sums", TEXT, TEXT, size=SIZE, retention=kept)
    visits = stores.session("visits", TEXT, TEXT, retention=kept)
    group = cogrouped(builder)
    tumbling = group.windowed_by(TimeWindows(SIZE, grace=NO_GRACE))
    assert tumbling.aggregate(empty, store=sums, value=TEXT).store_name == "sums"
    sessions = group.windowed_by(SessionWindows(SIZE, grace=NO_GRACE))
    assert sessions.aggregate(empty, joined, store=visits, value=TEXT, name="both").store_name == "visits"
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("ups", TEXT, TEXT).pipe("k", "a", timestamp_ms=10)
        assert driver.store(sums).get("k", 0) == "+a"
        assert driver.store(visits).get("k", 10, 10) == "+a"


def test_nodes_are_named() -> None:
    builder = StreamsBuilder()
    windows = SessionWindows(SIZE, grace=NO_GRACE)
    cogrouped(builder).windowed_by(windows).aggregate(empty, joined, value=TEXT, name="both")
    cogrouped_again = StreamsBuilder()
    cogrouped(cogrouped_again).windowed_by(TimeWindows(SIZE, grace=NO_GRACE)).aggregate(empty, value=TEXT)
    assert list(builder.build().graph.nodes)[2:] == ["both-cogroup-agg-0", "both-cogroup-agg-1", "both-cogroup-merge"]
    assert list(cogrouped_again.build().graph.nodes)[2:] == [
        "COGROUPKSTREAM-AGGREGATE-0000000003",
        "COGROUPKSTREAM-AGGREGATE-0000000004",
        "COGROUPKSTREAM-MERGE-0000000005",
    ]
