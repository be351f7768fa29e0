"""Joins with tables, as the test driver runs them."""

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KTable, StreamsBuilder
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
