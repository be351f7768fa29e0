"""Joins with tables, as the test driver runs them."""

from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import ErrorResponse, JoinWindows, KTable, StreamsBuilder, stores
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string


def both(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


@pytest.mark.parametrize(
    ("word", "expected"),
    [("join", [("k", "a+row")]), ("left_join", [("n", "a+None"), ("k", "a+row"), (None, "b+None")])],
)
def test_a_stream_is_joined_with_the_rows_of_a_table(word: str, expected: list[tuple[str | None, str]]) -> None:
    builder = StreamsBuilder()
    rows = builder.table("rows", key=TEXT, value=TEXT)
    stream = builder.stream("in", key=TEXT, value=TEXT)
    joined = stream.join(rows, both) if word == "join" else stream.left_join(rows, both)
    joined.to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("rows", TEXT, TEXT).pipe("k", "row", timestamp_ms=50)
        into = driver.input_topic("in", TEXT, TEXT)
        for key, value in (("n", "a"), ("k", "a"), ("k", None), (None, "b")):
            into.pipe(key, value, timestamp_ms=7)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
    assert [(record.key, record.value) for record in found] == expected
    assert {record.timestamp_ms for record in found} == {7}


TABLES = {
    "join": ["l+r", None],
    "left_join": ["l+None", "l+r", None],
    "outer_join": ["l+None", "l+r", "None+r", None],
}


@pytest.mark.parametrize("word", TABLES)
@pytest.mark.parametrize("store", [None, "both"])
def test_tables_are_joined_by_key(word: str, store: str | None) -> None:
    builder = StreamsBuilder()
    left = builder.table("left", key=TEXT, value=TEXT)
    right = builder.table("right", key=TEXT, value=TEXT)
    joins = {
        "join": lambda: left.join(right, both, value=TEXT, store=store),
        "left_join": lambda: left.left_join(right, both, value=TEXT, store=store),
        "outer_join": lambda: left.outer_join(right, both, value=TEXT, store=store),
    }
    joined: KTable[str, str] = joins[word]()
    joined.to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        lefts, rights = driver.input_topic("left", TEXT, TEXT), driver.input_topic("right", TEXT, TEXT)
        lefts.pipe("k", "l", timestamp_ms=1)
        rights.pipe("k", "r", timestamp_ms=9)
        lefts.pipe("k", None, timestamp_ms=3)
        rights.pipe("k", None, timestamp_ms=4)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
        assert store is None or driver.store(store).get("k") is None
    assert [record.value for record in found] == TABLES[word]


def test_a_stream_whose_keys_changed_is_repartitioned_before_a_join() -> None:
    builder = StreamsBuilder()
    rows = builder.table("rows", key=TEXT, value=TEXT)
    by_letter = builder.stream("in", key=TEXT, value=TEXT).select_key(lambda _, v: v[0], key=TEXT)
    by_letter.join(rows.filter(lambda _, row: row != "hidden"), both).to("out", value=TEXT)
    topology = builder.build()
    (group,) = topology.group_topology("app").subtopologies[0].copartition_groups
    assert group == {"rows", "app-KSTREAM-KEY-SELECT-0000000004-repartition"}
    with TopologyTestDriver(topology) as driver:
        table, into = driver.input_topic("rows", TEXT, TEXT), driver.input_topic("in", TEXT, TEXT)
        table.pipe("a", "hidden")
        into.pipe("x", "apple")
        table.pipe("a", "seen")
        into.pipe("x", "ape")
        assert [record.value for record in driver.records("out")] == [b"ape+seen"]


def test_a_join_needs_one_function() -> None:
    builder = StreamsBuilder()
    table = builder.table("t", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match="join takes a function of both values, or `with_key=`"):
        table.join(table)


def versioned(builder: StreamsBuilder, topic: str) -> KTable[str, str]:
    store = stores.versioned(f"{topic}-versions", TEXT, TEXT, history=timedelta(seconds=1))
    return builder.table(topic, key=TEXT, value=TEXT, store=store)


@pytest.mark.parametrize("is_computed", [False, True])
def test_a_stream_is_joined_with_the_rows_of_a_versioned_table_as_of_its_times(is_computed: bool) -> None:
    builder = StreamsBuilder()
    rows = versioned(builder, "rows")
    if is_computed:
        rows = rows.map_values(lambda value: value, value=TEXT).filter(lambda _key, value: value != "hidden")
    builder.stream("in", key=TEXT, value=TEXT).left_join(rows, both).to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        row, into = driver.input_topic("rows", TEXT, TEXT), driver.input_topic("in", TEXT, TEXT)
        for value, time_ms in (("new", 1_500), ("old", 1_000), (None, 1_700), ("hidden", 700)):
            row.pipe("k", value, timestamp_ms=time_ms)
        for time_ms in (999, 1_000, 1_499, 1_500, 1_700):
            into.pipe("k", str(time_ms), timestamp_ms=time_ms)
        found = [record.value for record in driver.output_topic("out", TEXT, TEXT).read_all()]
    first = "None" if is_computed else "hidden"
    assert found == [f"999+{first}", "1000+old", "1499+old", "1500+new", "1700+None"]


def test_joins_and_groups_drop_changes_that_are_not_the_newest_of_their_keys() -> None:
    builder = StreamsBuilder()
    left, right = versioned(builder, "left"), versioned(builder, "right")
    left.to_stream().to("changes")
    left.filter(lambda _key, _value: True).join(right, both, value=TEXT, name="joining").to_stream().to("joined")
    left.left_join(right, both, on=lambda key, _value: key, value=TEXT, name="looking").to_stream().to("looked-up")
    left.group_by(lambda key, value: (key, value), key=TEXT, value=TEXT).count().to_stream().to("counts")
    with TopologyTestDriver(builder.build()) as driver:
        lefts, rights = driver.input_topic("left", TEXT, TEXT), driver.input_topic("right", TEXT, TEXT)
        rights.pipe("k", "r", timestamp_ms=2_000)
        lefts.pipe("k", "new", timestamp_ms=2_000)
        lefts.pipe("k", "old", timestamp_ms=1_500)
        lefts.pipe("k", "refused", timestamp_ms=999)
        rights.pipe("k", "old", timestamp_ms=1_000)
        found = {topic: driver.output_topic(topic, TEXT, serdes.bytes_).read_all() for topic in driver.topics}
        dropped = driver.dropped_records
    values = {topic: [record.value for record in records] for topic, records in found.items()}
    assert values["changes"] == [b"new", b"old"]
    assert values["joined"] == [b"new+r"]
    assert values["looked-up"] == [b"new+r"]
    assert len(values["counts"]) == 1
    # The left table's old version is dropped by both joins, and the right table's, too. Groups do not count it.
    assert dropped["left-versions"] == 1
    assert sum(dropped.values()) == 5


def test_the_next_change_that_is_the_newest_is_not_dropped() -> None:
    builder = StreamsBuilder()
    left = versioned(builder, "left")
    left.join(builder.table("right", key=TEXT, value=TEXT), both, value=TEXT).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("right", TEXT, TEXT).pipe("k", "r", timestamp_ms=0)
        lefts = driver.input_topic("left", TEXT, TEXT)
        for value, time_ms in (("a", 100), ("late", 50), ("b", 100), ("c", 101)):
            lefts.pipe("k", value, timestamp_ms=time_ms)
        found = [record.value for record in driver.output_topic("out", TEXT, TEXT).read_all()]
    assert found == ["a+r", "b+r", "c+r"]


@pytest.mark.parametrize("word", ["join", "left_join"])
def test_records_wait_for_rows_that_arrive_within_the_grace(word: str) -> None:
    builder = StreamsBuilder()
    rows, stream = versioned(builder, "rows"), builder.stream("in", key=TEXT, value=TEXT)
    grace = timedelta(milliseconds=100)
    joined = stream.join(rows, both, grace=grace) if word == "join" else stream.left_join(rows, both, grace=grace)
    joined.to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        row, into = driver.input_topic("rows", TEXT, TEXT), driver.input_topic("in", TEXT, TEXT)
        out = driver.output_topic("out", TEXT, TEXT)
        into.pipe("k", "waits", timestamp_ms=1_000, headers=(("x", b"1"),))
        row.pipe("k", "late", timestamp_ms=900)
        into.pipe("other", "alone", timestamp_ms=1_099)
        assert len(out) == 0
        driver.restart()
        into.pipe("k", "next", timestamp_ms=1_100)
        assert [(each.value, each.timestamp_ms, each.headers) for each in out.read_all()] == [
            ("waits+late", 1_000, (("x", b"1"),))
        ]
        into.pipe("k", "too late to wait", timestamp_ms=999)
        assert [each.value for each in out.read_all()] == ["too late to wait+late"]
        into.pipe("k", "last", timestamp_ms=2_000)
        alone = [] if word == "join" else ["alone+None"]
        assert [each.value for each in out.read_all()] == [*alone, "next+late"]


def test_what_cannot_find_a_row_does_not_wait() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.left_join(versioned(builder, "rows"), both, grace=timedelta(seconds=1)).to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", TEXT, TEXT)
        into.pipe(None, "no key", timestamp_ms=1)
        into.pipe("k", None, timestamp_ms=1)
        assert [each.value for each in driver.output_topic("out", TEXT, TEXT).read_all()] == ["no key+None"]
        assert sum(driver.dropped_records.values()) == 1


def test_a_grace_needs_a_versioned_table_with_a_history_of_that_length() -> None:
    builder, second = StreamsBuilder(), timedelta(seconds=1)
    stream = builder.stream("in", key=TEXT, value=TEXT)
    plain = builder.table("plain", key=TEXT, value=TEXT)
    kept = versioned(builder, "rows")
    stream.join(kept, both, grace=second)
    with pytest.raises(ConfigurationError, match=r"join: grace=.* is for versioned tables, and KTABLE-\S+ is not one"):
        stream.join(plain, both, grace=second)
    with pytest.raises(
        ConfigurationError, match=r"left_join: grace=.* is longer than the history of .*, which is 1000 ms"
    ):
        stream.left_join(kept, both, grace=second + timedelta(milliseconds=1))
    with pytest.raises(ConfigurationError, match=r"join: grace=.* is too short. Give at least 0 ms"):
        stream.join(kept, both, grace=-second)
    unversioned = kept.filter(lambda _key, _value: True, store="filtered")
    with pytest.raises(ConfigurationError, match="is for versioned tables"):
        stream.join(unversioned, both, grace=second)


def test_a_grace_is_for_tables_that_are_not_global() -> None:
    builder, second = StreamsBuilder(), timedelta(seconds=1)
    stream: Any = builder.stream("in", key=TEXT, value=TEXT)
    rows = builder.global_table("rows", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match=r"join: grace=.* is for joins with a versioned table"):
        stream.join(rows, both, on=lambda key, _value: key, grace=second)
    with pytest.raises(TypeError, match=r"left_join: grace=.* is for joins with a versioned table"):
        stream.left_join(stream, both, windows=JoinWindows(before=second, after=second, grace=second), grace=second)


def test_a_value_that_cannot_be_written_is_given_to_the_handler() -> None:
    builder = StreamsBuilder()
    stream: Any = builder.stream("in", key=TEXT, value=TEXT).map_values(lambda _value: 5, value=TEXT)
    stream.join(versioned(builder, "rows"), both, grace=timedelta(seconds=1)).to("out", value=TEXT)
    seen: list[Exception] = []

    def skip(_context: object, _record: object, error: Exception) -> ErrorResponse:
        seen.append(error)
        return ErrorResponse.RESUME

    with TopologyTestDriver(builder.build(), processing_exception_handler=skip) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v", timestamp_ms=1)
    assert len(seen) == 1
