"""Suppressed tables, as the test driver runs them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import (
    ErrorResponse,
    KTable,
    SessionWindows,
    StreamsBuilder,
    StreamsError,
    Suppressed,
    TimeWindows,
    TopologyError,
    Windowed,
    stores,
)
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.unit.streams.dsl.test_windowed import results, written

TEXT = serdes.string
SIZE, GRACE, LIMIT = timedelta(milliseconds=100), timedelta(milliseconds=70), timedelta(milliseconds=60)

Step = tuple[str, str | None, int]


def counts(builder: StreamsBuilder) -> KTable[Windowed[str], int]:
    windows = TimeWindows(SIZE, grace=GRACE)
    return builder.stream("in", key=TEXT, value=TEXT).group_by_key().windowed_by(windows).count()


def rows(suppressed: Suppressed[Any], *steps: Step, topic: str = "in") -> list[list[str]]:
    """Return what a suppressed table forwards at each step."""
    builder = StreamsBuilder()
    builder.table(topic, key=TEXT, value=TEXT).suppress(suppressed).to_stream().to("out")
    found: list[list[str]] = []
    with TopologyTestDriver(builder.build()) as driver:
        into, out = driver.input_topic(topic, TEXT, TEXT), driver.output_topic("out", TEXT, TEXT)
        for key, value, timestamp_ms in steps:
            into.pipe(key, value, timestamp_ms=timestamp_ms)
            found.append([f"{each.key}={each.value} at {each.timestamp_ms}" for each in out.read_all()])
    return found


@pytest.mark.parametrize("cache", [0, 1000])
def test_a_window_has_one_result_when_it_has_closed(cache: int) -> None:
    builder = StreamsBuilder()
    records = [("b", "", 0), ("a", "", 10), ("a", "", 20), ("c", "", 169), ("c", "", 170), ("a", "late", 30)]
    suppressed = counts(builder).suppress(Suppressed.until_window_closes())
    assert results(written(builder, suppressed), *records, cache=cache) == [
        "[a@0/100]=2 at 20",
        "[b@0/100]=1 at 0",
    ]


def test_windows_are_known_behind_filters_and_joins() -> None:
    builder = StreamsBuilder()
    table = counts(builder)
    big = table.filter(lambda _, count: count > 1)
    both = table.join(big, lambda count, same: count + same, value=serdes.int64)
    records = [("a", "", 0), ("a", "", 10), ("b", "", 200), ("b", "", 210)]
    suppressed = both.suppress(Suppressed.until_window_closes())
    assert results(written(builder, suppressed), *records) == ["[a@0/100]=4 at 10"]


def test_a_session_that_became_part_of_another_is_not_told() -> None:
    builder = StreamsBuilder()
    windows = SessionWindows(timedelta(milliseconds=50), grace=timedelta(0))
    table = builder.stream("in", key=TEXT, value=TEXT).group_by_key().windowed_by(windows).count()
    records = [("a", "", 0), ("a", "", 40), ("b", "", 91)]
    suppressed = table.suppress(Suppressed.until_window_closes())
    assert results(written(builder, suppressed), *records) == ["[a@0/40]=2 at 40"]


def test_the_last_update_comes_when_the_first_has_waited() -> None:
    limited = Suppressed.until_time_limit(LIMIT)
    steps: list[Step] = [("b", "x", 0), ("a", "1", 0), ("a", "2", 50), ("c", "0", 59), ("c", "3", 60), ("a", "4", 119)]
    assert rows(limited, *steps) == [[], [], [], [], ["a=2 at 50", "b=x at 0"], ["c=3 at 60"]]


def test_deleted_rows_wait_too() -> None:
    assert rows(Suppressed.until_time_limit(LIMIT), ("a", "x", 0), ("a", None, 10), ("b", "", 60))[-1] == [
        "a=None at 10"
    ]


@pytest.mark.parametrize(
    "limited",
    [
        Suppressed.until_time_limit(LIMIT, max_records=2),
        Suppressed.until_time_limit(LIMIT, max_bytes=3 * (28 + len("in") + len("a") + len("x")) - 1),
    ],
)
def test_updates_that_wait_longest_come_early_when_there_are_too_many(limited: Suppressed[Any]) -> None:
    assert rows(limited, ("b", "x", 2), ("a", "x", 1), ("c", "x", 3)) == [[], [], ["a=x at 1"]]


@pytest.mark.parametrize(
    ("suppress", "told"),
    [
        (
            lambda table: table.suppress(Suppressed.until_window_closes(max_records=1)),
            r"holds 2 updates with 110 bytes, and max_records=1\. Raise the limit",
        ),
        (
            lambda table: table.suppress(
                Suppressed.until_time_limit(LIMIT, max_records=9, max_bytes=99, shut_down_when_full=True)
            ),
            r"2 updates with 110 bytes, and max_records=9 and max_bytes=99\.",
        ),
    ],
)
def test_a_full_buffer_is_an_error_that_no_handler_skips(
    suppress: Callable[[KTable[Windowed[str], int]], KTable[Windowed[str], int]], told: str
) -> None:
    builder = StreamsBuilder()
    suppress(counts(builder)).to_stream().to("out")
    with TopologyTestDriver(
        builder.build(), statestore_cache_max_bytes=0, processing_exception_handler=lambda *_: ErrorResponse.RESUME
    ) as driver:
        into = driver.input_topic("in", TEXT, TEXT)
        into.pipe("a", "", timestamp_ms=0)
        with pytest.raises(StreamsError, match=told):
            into.pipe("b", "", timestamp_ms=0)


def test_a_value_that_cannot_be_written_is_given_to_the_handler() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", key=TEXT, value=TEXT)
    wrong = table.map_values(lambda value: 1 if value == "bad" else value, value=TEXT)  # type: ignore[arg-type, return-value]
    wrong.suppress(Suppressed.until_time_limit(timedelta(0))).to_stream().to("out")
    with TopologyTestDriver(builder.build(), processing_exception_handler=lambda *_: ErrorResponse.RESUME) as driver:
        into, out = driver.input_topic("in", TEXT, TEXT), driver.output_topic("out", TEXT, TEXT)
        into.pipe("a", "bad", timestamp_ms=0)
        into.pipe("a", "good", timestamp_ms=0)  # its old value is the wrong one
        into.pipe("a", "better", timestamp_ms=0)
        assert [each.value for each in out.read_all()] == ["better"]


def test_emitted_records_have_the_headers_and_the_place_of_their_update() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", key=TEXT, value=TEXT)
    places: list[tuple[str, int]] = []

    def placed(name: str) -> Callable[[str, str, RecordContext], str]:
        def topic(_key: str, _value: str, context: RecordContext) -> str:
            places.append((name, context.offset))
            return name

        return topic

    table.suppress(Suppressed.until_time_limit(LIMIT)).to_stream().to(placed("out"))
    table.to_stream().to(placed("all"))
    with TopologyTestDriver(builder.build()) as driver:
        into, out = driver.input_topic("in", TEXT, TEXT), driver.output_topic("out", TEXT, TEXT)
        into.pipe("a", "x", timestamp_ms=0, headers=[("h", b"1")])
        into.pipe("b", "y", timestamp_ms=60)
        assert [each.headers for each in out.read_all()] == [(("h", b"1"),)]
    assert places == [("all", 0), ("out", 0), ("all", 1)]


def test_joins_see_rows_as_they_were_before_the_updates_that_wait() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", key=TEXT, value=TEXT).suppress(Suppressed.until_time_limit(LIMIT))
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.left_join(table, lambda value, row: f"{value}+{row}").to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        into, rows, out = (
            driver.input_topic("in", TEXT, TEXT),
            driver.input_topic("table", TEXT, TEXT),
            driver.output_topic("out", TEXT, TEXT),
        )
        for value, timestamp_ms in (("x", 0), ("y", 10), ("z", 80), (None, 90)):
            rows.pipe("a", value, timestamp_ms=timestamp_ms)
            into.pipe("a", str(value), timestamp_ms=timestamp_ms)
        assert [each.value for each in out.read_all()] == ["x+None", "y+None", "z+z", "None+z"]


def test_a_row_whose_update_waits_has_no_time_of_its_own_in_a_join_of_tables() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", key=TEXT, value=TEXT).suppress(Suppressed.until_time_limit(LIMIT))
    other = builder.table("other", key=TEXT, value=TEXT)
    table.join(other, lambda row, found: f"{row}+{found}").to_stream().to("out", value=TEXT)
    steps: list[tuple[str, Step]] = [
        ("in", ("a", "x", 0)),
        ("other", ("a", "O", 5)),
        ("in", ("a", "xy", 10)),
        ("in", ("b", "w", 100)),
        ("other", ("a", "Q", 4)),
        ("in", ("a", "xyz", 120)),
        ("other", ("a", "R", 2)),
        ("in", ("b", "ww", 300)),
        ("other", ("a", "S", 2)),
    ]
    with TopologyTestDriver(builder.build()) as driver:
        for topic, (key, value, timestamp_ms) in steps:
            driver.input_topic(topic, TEXT, TEXT).pipe(key, value, timestamp_ms=timestamp_ms)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
    assert [f"{each.value} at {each.timestamp_ms}" for each in found] == [
        "xy+O at 10",
        "xy+Q at 10",
        "xy+R at 2",  # the row of 120 waits
        "xyz+R at 120",
        "xyz+S at 120",
    ]


def test_updates_wait_over_a_restart() -> None:
    builder = StreamsBuilder()
    builder.table("in", key=TEXT, value=TEXT).suppress(Suppressed.until_time_limit(LIMIT)).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        into, out = driver.input_topic("in", TEXT, TEXT), driver.output_topic("out", TEXT, TEXT)
        into.pipe("a", "x", timestamp_ms=0, headers=[("h", b"1")])
        into.pipe("b", "y", timestamp_ms=1)
        into.pipe("c", "z", timestamp_ms=60)
        driver.restart()
        assert [each.key for each in out.read_all()] == ["a"]
        into.pipe("a", "late", timestamp_ms=60)
        into.pipe("c", "again", timestamp_ms=119)
        assert [each.key for each in out.read_all()] == ["b"]
        into.pipe("d", "", timestamp_ms=120)
        assert [(each.key, each.value, each.timestamp_ms) for each in out.read_all()] == [
            ("a", "late", 60),
            ("c", "again", 119),
        ]


def test_names_and_changelogs_of_buffers() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", key=TEXT, value=TEXT)
    limited = Suppressed.until_time_limit(LIMIT)
    table.suppress(limited, name="calm").suppress(limited).suppress(limited, changelog=False).suppress(
        limited, changelog={"segment.bytes": "1000"}
    ).to_stream().to("out")
    topology = builder.build()
    assert list(topology.graph.nodes)[2:6] == [
        "calm",
        "KTABLE-SUPPRESS-0000000003",
        "KTABLE-SUPPRESS-0000000005",
        "KTABLE-SUPPRESS-0000000007",
    ]
    changelogs = topology.group_topology("app").subtopologies[0].changelogs
    assert {each.name: dict(each.configs).get("segment.bytes") for each in changelogs} == {
        "app-in-STATE-STORE-0000000000-changelog": None,
        "app-calm-store-changelog": None,
        "app-KTABLE-SUPPRESS-STATE-STORE-0000000004-changelog": None,
        "app-KTABLE-SUPPRESS-STATE-STORE-0000000008-changelog": "1000",
    }


def test_stores_of_a_join_are_described_in_the_order_of_java() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("other", key=TEXT, value=TEXT)
    table = builder.table("table", key=TEXT, value=TEXT).suppress(Suppressed.until_time_limit(LIMIT))
    stream.left_join(table, lambda value, row: f"{value}+{row}").to("out", value=TEXT)
    # Both names have one place in Java's set of stores, so that the one comes first that was connected first.
    stores = "KTABLE-SUPPRESS-STATE-STORE-0000000005, table-STATE-STORE-0000000001"
    assert f"Processor: KSTREAM-LEFTJOIN-0000000006 (stores: [{stores}])" in builder.build().describe()


def test_tables_without_windows_do_not_wait_for_them() -> None:
    table = StreamsBuilder().table("in", key=TEXT, value=TEXT)
    closes: Suppressed[Any] = Suppressed.until_window_closes()
    with pytest.raises(TopologyError, match=r"suppress: the keys of KTABLE-SOURCE-\d+ have no windows"):
        table.suppress(closes)


def test_what_is_no_rule_is_refused() -> None:
    table = StreamsBuilder().table("in", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match=r"suppressed=datetime.timedelta\(.*\) is not a rule"):
        table.suppress(LIMIT)  # type: ignore[arg-type]


def test_serdes_that_are_missing_can_be_given() -> None:
    builder = StreamsBuilder()
    mapped = builder.table("in", key=TEXT, value=TEXT).map_values(len)
    mapped.suppress(Suppressed.until_time_limit(LIMIT))
    with pytest.raises(TopologyError, match=r"map_values left unknown\. Give it: map_values\(…, value=serdes.…\)"):
        builder.build()
    builder = StreamsBuilder()
    mapped = builder.table("in", key=TEXT, value=TEXT).map_values(len)
    mapped.suppress(Suppressed.until_time_limit(LIMIT), value=serdes.int64).to_stream().to("out")
    assert "KTABLE-SUPPRESS-" in builder.build().describe()


def test_buffers_cannot_be_read() -> None:
    builder = StreamsBuilder()
    builder.table("in", key=TEXT, value=TEXT).suppress(Suppressed.until_time_limit(LIMIT), name="calm")
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(StreamsError, match="'calm-store' is the buffer of a suppressed table"),
    ):
        driver.store("calm-store")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: Suppressed.until_time_limit(5), "limit=5 is not a duration"),  # type: ignore[arg-type]
        (lambda: Suppressed.until_time_limit(-LIMIT), "is too short"),
        (lambda: Suppressed.until_time_limit(LIMIT, max_records=-1), "max_records=-1 is not a limit"),
        (lambda: Suppressed.until_window_closes(max_bytes=True), "max_bytes=True is not a limit"),
        (lambda: Suppressed.until_time_limit(LIMIT, shut_down_when_full=True), "Give max_records or max_bytes"),
    ],
)
def test_wrong_limits_are_refused(wrong: Callable[[], object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        wrong()


def test_a_versioned_table_is_not_suppressed() -> None:
    kept = stores.versioned("kept", TEXT, TEXT, history=timedelta(seconds=1))
    table = StreamsBuilder().table("in", key=TEXT, value=TEXT, store=kept)
    for each in (table, table.filter(lambda _key, _value: True)):
        with pytest.raises(ConfigurationError, match=r"a versioned table \(history=1000 ms\).* Suppress a table"):
            each.suppress(Suppressed.until_time_limit(timedelta(seconds=1)))
    # What has a store of its own is another table.
    other = table.filter(lambda _key, _value: True, store="other")
    other.suppress(Suppressed.until_time_limit(timedelta(seconds=1)))
