"""Joins with tables, as the test driver runs them."""

from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KTable, StreamsBuilder, stores
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
