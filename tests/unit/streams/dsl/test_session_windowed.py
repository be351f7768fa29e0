"""Aggregations by sessions and sliding windows, as the test driver runs them."""

from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    EmitStrategy,
    KTable,
    SessionWindowedKStream,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Windowed,
    stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.unit.streams.dsl.test_windowed import results, written

GAP, GRACE = timedelta(milliseconds=50), timedelta(milliseconds=70)
VISITS = stores.session("visits", serdes.string, serdes.string, retention=timedelta(seconds=1))
SLIDING = SlidingWindows(timedelta(milliseconds=100), grace=timedelta(0))


def visits(builder: StreamsBuilder) -> SessionWindowedKStream[str, str]:
    windows = SessionWindows(GAP, grace=GRACE)
    return builder.stream("in", key=serdes.string, value=serdes.string).group_by_key().windowed_by(windows)


@pytest.mark.parametrize("cache", [0, 1000])
def test_a_record_joins_sessions_and_removes_the_shorter_ones(cache: int) -> None:
    builder = StreamsBuilder()
    table = visits(builder).aggregate(
        lambda: "", lambda _, value, found: found + value, lambda _, a, b: f"{a}|{b}", value=serdes.string
    )
    records = ("k", "a", 0), ("k", "b", 100), ("k", "c", 50)
    assert results(written(builder, table), *records, cache=cache) == [
        "[k@0/0]=a at 0",
        "[k@100/100]=b at 100",
        "[k@0/0]=None at 0",
        "[k@100/100]=None at 100",
        "[k@0/100]=|a|bc at 100",
    ]


def test_a_session_is_closed_when_gap_and_grace_are_over() -> None:
    builder = StreamsBuilder()
    records = ("j", "", 1000), ("k", "late", 879), ("k", "", 880)
    assert results(written(builder, visits(builder).count()), *records) == [
        "[j@1000/1000]=1 at 1000",
        "[k@880/880]=1 at 880",
    ]


def test_sessions_are_reduced_and_can_be_queried() -> None:
    builder = StreamsBuilder()
    visits(builder).reduce(lambda a, b: a + b, store=VISITS).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for timestamp_ms, value in enumerate("abc"):
            into.pipe("k", value, timestamp_ms=timestamp_ms)
        found = driver.output_topic("out", serdes.session_windowed(serdes.string), serdes.string).read_all()
        assert (found[-1].key, found[-1].value) == (("k", (0, 2)), "abc")
        assert list(driver.store(VISITS).fetch("k")) == [(("k", (0, 2)), "abc")]


@pytest.mark.parametrize("cache", [0, 1000])
def test_sessions_are_emitted_once_when_they_close(cache: int) -> None:
    builder = StreamsBuilder()
    table = visits(builder).emit_strategy(EmitStrategy.on_window_close()).count()
    records = ("k", "", 0), ("k", "", 40), ("j", "", 160), ("j", "", 161), ("j", "", 10**6)
    assert results(written(builder, table), *records, cache=cache) == ["[k@0/40]=2 at 40", "[j@160/161]=2 at 161"]


@pytest.mark.parametrize("cache", [0, 1000])
def test_sessions_that_closed_have_the_headers_of_the_record_that_closed_them(cache: int) -> None:
    builder = StreamsBuilder()
    visits(builder).emit_strategy(EmitStrategy.on_window_close()).count().to_stream().to("out")
    with TopologyTestDriver(builder.build(), statestore_cache_max_bytes=cache) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        into.pipe("k", "", timestamp_ms=0, headers=[("x", b"1")])
        into.pipe("k", "", timestamp_ms=1000, headers=[("x", b"2")])
        (found,) = driver.output_topic("out", serdes.session_windowed(serdes.string), serdes.int64).read_all()
    assert found.headers == (("x", b"2"),)


@pytest.mark.parametrize("cache", [0, 1000])
def test_a_sliding_window_begins_or_ends_with_a_record(cache: int) -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string, value=serdes.string).group_by_key()
    records = ("k", "a", 200), ("k", "b", 230), ("k", "c", 250), ("k", "d", 205), ("k", None, 260)
    joined = grouped.windowed_by(SlidingWindows(timedelta(milliseconds=100), grace=GRACE)).reduce(lambda a, b: a + b)
    found = results(written(builder, joined), *records, cache=cache)
    assert found == [
        "[k@100/200]=a at 200",
        "[k@201/301]=b at 230", "[k@130/230]=ab at 230",
        "[k@201/301]=bc at 250", "[k@231/331]=c at 250", "[k@150/250]=abc at 250",
        "[k@201/301]=bcd at 250", "[k@150/250]=abcd at 250", "[k@130/230]=abd at 230", "[k@105/205]=ad at 205",
        "[k@206/306]=bc at 250",
    ]  # fmt: skip


def test_sliding_windows_are_emitted_when_their_last_time_has_passed() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string, value=serdes.string).group_by_key()
    table = grouped.windowed_by(SLIDING).emit_strategy(EmitStrategy.on_window_close()).count()
    records = ("k", "", 150), ("j", "", 151), ("j", "", 10**6)
    assert results(written(builder, table), *records) == ["[k@50/150]=1 at 150", "[j@51/151]=1 at 151"]


def changes(table: KTable[Windowed[str], str], builder: StreamsBuilder, *records: tuple[str, str, int]) -> list[str]:
    """Return the new values (+) and old values (-) that a table forwards without a cache."""
    grouped = table.group_by(lambda _, value: ("all", value), key=serdes.string, value=serdes.string)
    grouped.aggregate(
        lambda: "",
        lambda _, value, found: f"{found}+{value}",
        lambda _, value, found: f"{found}-{value}",
        value=serdes.string,
    ).to_stream().to("out")
    return results(builder.build(), *records, cache=0)


def test_a_session_that_is_put_again_in_its_place_is_told_as_new() -> None:
    builder = StreamsBuilder()
    table = visits(builder).reduce(lambda a, b: a + b)
    assert changes(table, builder, ("k", "a", 0), ("k", "b", 0)) == ["all=+a at 0", "all=+a+ab at 0"]


def test_a_sliding_window_that_is_new_has_the_window_that_it_began_with_as_old_value() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string, value=serdes.string).group_by_key()
    table = grouped.windowed_by(SLIDING).reduce(lambda a, b: a + b)
    assert changes(table, builder, ("k", "a", 150), ("k", "b", 200)) == [
        "all=+a at 150",
        "all=+a+b at 200",
        "all=+a+b-a+ab at 200",
    ]
