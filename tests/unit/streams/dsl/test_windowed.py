"""Windowed aggregations, as the test driver runs them."""

from collections import Counter
from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.serdes import Window
from kafka_groups.streams import (
    EmitStrategy,
    KTable,
    SlidingWindows,
    StreamsBuilder,
    TimeWindowedKStream,
    TimeWindows,
    Topology,
    UnlimitedWindows,
    Windowed,
    stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

SIZE, GRACE = timedelta(milliseconds=100), timedelta(milliseconds=70)
TUMBLING = TimeWindows(SIZE, grace=GRACE)
COUNTS = stores.window("counts", serdes.string, serdes.int64, size=SIZE, retention=timedelta(seconds=1))

Windows = TimeWindows | UnlimitedWindows


def windowed(builder: StreamsBuilder, windows: Windows = TUMBLING) -> TimeWindowedKStream[str, str]:
    return builder.stream("in", key=serdes.string, value=serdes.string).group_by_key().windowed_by(windows)


def written(builder: StreamsBuilder, table: KTable[Windowed[str], int] | KTable[Windowed[str], str]) -> Topology:
    table.to_stream().map(lambda window, value: (str(window), str(value))).to(
        "out", key=serdes.string, value=serdes.string
    )
    return builder.build()


def results(topology: Topology, *records: tuple[str | None, str | None, int], cache: int = 1000) -> list[str]:
    with TopologyTestDriver(topology, statestore_cache_max_bytes=cache) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for key, value, timestamp_ms in records:
            into.pipe(key, value, timestamp_ms=timestamp_ms)
        found = driver.output_topic("out", serdes.string, serdes.string).read_all()
    return [f"{each.key}={each.value} at {each.timestamp_ms}" for each in found]


@pytest.mark.parametrize("cache", [0, 1000])
def test_each_window_of_a_key_has_a_count_and_the_time_of_its_newest_record(cache: int) -> None:
    builder = StreamsBuilder()
    topology = written(builder, windowed(builder).count())
    found = results(topology, ("k", "a", 10), ("k", "b", 5), ("k", None, 100), (None, "c", 100), cache=cache)
    assert found == ["[k@0/100]=1 at 10", "[k@0/100]=2 at 10", "[k@100/200]=1 at 100"]


def test_a_window_is_closed_when_the_time_of_records_has_passed_its_end_by_the_grace() -> None:
    builder = StreamsBuilder()
    topology = written(builder, windowed(builder).count())
    assert results(topology, ("j", "", 169), ("k", "open", 0), ("j", "", 170), ("k", "closed", 0)) == [
        "[j@100/200]=1 at 169",
        "[k@0/100]=1 at 0",
        "[j@100/200]=2 at 170",
    ]


def test_a_late_record_still_counts_in_those_hopping_windows_that_are_open() -> None:
    builder = StreamsBuilder()
    hopping = TimeWindows(SIZE, advance=timedelta(milliseconds=50), grace=timedelta(0))
    assert results(written(builder, windowed(builder, hopping).count()), ("j", "", 120), ("k", "", 60)) == [
        "[j@50/150]=1 at 120",
        "[j@100/200]=1 at 120",
        "[k@50/150]=1 at 60",
    ]


@pytest.mark.parametrize("advance_ms", [100, 50, 30])
def test_records_whose_times_go_back_and_forth_count_in_their_own_windows(advance_ms: int) -> None:
    windows = TimeWindows(SIZE, advance=timedelta(milliseconds=advance_ms), grace=timedelta(seconds=10))
    times_ms = [0, 29, 30, 99, 100, 101, 5, 250, 99, 100, 269, 270, 250, 0]
    builder = StreamsBuilder()
    found = results(written(builder, windowed(builder, windows).count()), *(("k", "", each) for each in times_ms))
    counts: Counter[str] = Counter()
    expected = []
    for at, time_ms in enumerate(times_ms):
        for start_ms, end_ms in windows.windows_for(time_ms):
            counts[key := f"[k@{start_ms}/{end_ms}]"] += 1
            newest_ms = max(each for each in times_ms[: at + 1] if start_ms <= each < end_ms)
            expected.append(f"{key}={counts[key]} at {newest_ms}")
    assert found == expected


def test_windows_of_a_program_s_own_may_begin_anywhere() -> None:
    class Own(TimeWindows):
        def windows_for(self, timestamp_ms: int) -> list[Window]:
            return [Window(0, 10)] if timestamp_ms < 10 else [Window(10, 25), Window(timestamp_ms, 25)]

    builder = StreamsBuilder()
    table = windowed(builder, Own(SIZE, grace=GRACE)).count()
    assert results(written(builder, table), ("k", "", 9), ("k", "", 12), ("k", "", 13)) == [
        "[k@0/10]=1 at 9",
        "[k@10/25]=1 at 12",
        "[k@12/25]=1 at 12",
        "[k@10/25]=2 at 13",
        "[k@13/25]=1 at 13",
    ]


def test_values_are_reduced_and_aggregated_by_window() -> None:
    records = ("k", "a", 10), ("k", "b", 20), ("k", "c", 100)
    builder = StreamsBuilder()
    reduced = windowed(builder).reduce(lambda old, new: old + new)
    assert results(written(builder, reduced), *records)[1:] == ["[k@0/100]=ab at 20", "[k@100/200]=c at 100"]
    builder = StreamsBuilder()
    added = windowed(builder).aggregate(lambda: ">", lambda _, value, found: found + value, value=serdes.string)
    assert results(written(builder, added), *records)[1:] == ["[k@0/100]=>ab at 20", "[k@100/200]=>c at 100"]


def test_an_unlimited_window_drops_what_comes_before_its_start() -> None:
    builder = StreamsBuilder()
    topology = written(builder, windowed(builder, UnlimitedWindows(start_ms=50)).count())
    found = results(topology, ("k", "", 49), ("k", "", 50), ("k", "", 10**15))
    assert found == [f"[k@50/{2**63 - 1}]=1 at 50", f"[k@50/{2**63 - 1}]=2 at {10**15}"]


@pytest.mark.parametrize("cache", [0, 1000])
def test_windows_are_emitted_once_when_they_close_even_if_time_jumps(cache: int) -> None:
    builder = StreamsBuilder()
    table = windowed(builder).emit_strategy(EmitStrategy.on_window_close()).count()
    records = ("k", "", 10), ("j", "", 20), ("k", "", 90), ("k", "", 150), ("k", "", 10**9)
    assert results(written(builder, table), *records, cache=cache) == [
        "[j@0/100]=1 at 20",
        "[k@0/100]=2 at 90",
        "[k@100/200]=1 at 150",
    ]


def test_results_have_windowed_keys_and_stores_can_be_queried() -> None:
    builder = StreamsBuilder()
    windowed(builder).count(store=COUNTS).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for timestamp_ms in (10, 20, 110):
            into.pipe("k", "v", timestamp_ms=timestamp_ms)
        found = driver.output_topic("out", serdes.time_windowed(serdes.string, SIZE), serdes.int64).read_all()
        assert [(each.key, each.value) for each in found] == [
            (("k", (0, 100)), 1),
            (("k", (0, 100)), 2),
            (("k", (100, 200)), 1),
        ]
        store = driver.store(COUNTS)
        assert list(store.fetch("k", 0, 500)) == [(0, 2), (100, 1)]
        assert list(store.fetch_all(0, 99)) == [(("k", (0, 100)), 2)]


def test_retention_is_the_longest_of_what_was_asked_and_what_the_windows_need() -> None:
    for retention, kept_ms in ((None, 170), (timedelta(milliseconds=1), 170), (timedelta(seconds=5), 5000)):
        builder = StreamsBuilder()
        windowed(builder).count(store="counts", retention=retention).to_stream().foreach(print)
        (subtopology,) = builder.build().group_topology("app").subtopologies
        assert dict(subtopology.changelogs[0].configs)["retention.ms"] == str(kept_ms + 86_400_000)
        assert dict(subtopology.changelogs[0].configs)["cleanup.policy"] == "compact,delete"


def test_a_sliding_window_that_begins_after_a_late_record_is_not_made() -> None:
    # [9040, 9070] would close at 9070, when the record's own windows are closed already. Java drops the record.
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string, value=serdes.string).group_by_key()
    windows = SlidingWindows(timedelta(milliseconds=30), grace=timedelta(milliseconds=30))
    grouped.windowed_by(windows).count(store="counts")
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for timestamp_ms in (9060, 9100, 9039):
            into.pipe("k", "v", timestamp_ms=timestamp_ms)
        assert [start_ms for start_ms, _ in driver.store("counts").fetch("k", 0, 10_000)] == [9030, 9070]
        assert sum(driver.dropped_records.values()) == 1


def test_each_closed_sliding_window_of_a_record_is_counted_as_in_java() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string, value=serdes.string).group_by_key()
    windows = SlidingWindows(timedelta(milliseconds=30), grace=timedelta(milliseconds=30))
    grouped.windowed_by(windows).count(store="counts")
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for timestamp_ms in (9050, 9100, 9045):
            into.pipe("k", "v", timestamp_ms=timestamp_ms)
        # [9015, 9045] and [9020, 9050] are closed; [9046, 9076] begins after the record and takes the one at 9050.
        assert [start_ms for start_ms, _ in driver.store("counts").fetch("k", 0, 10_000)] == [9020, 9046, 9070]
        assert sum(driver.dropped_records.values()) == 2
