"""Foreign-key joins, as the test driver runs them."""

from typing import Any, cast

import pytest
from attrs import frozen

from kafka_groups import serdes
from kafka_groups.streams import KTable, StreamsBuilder, StreamsError, TopologyError
from kafka_groups.streams.topology.nodes import Partitioner
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string

Step = tuple[str, str, str | None]


def both(left: str, right: str | None) -> str:
    return f"{left}+{right}"


def first_letter(_key: str, value: str) -> str | None:
    return value[0] if value else None


def topology(word: str, *, name: str | None = None, store: str | None = None) -> Topology:
    builder = StreamsBuilder()
    left = builder.table("left", key=TEXT, value=TEXT)
    right = builder.table("right", key=TEXT, value=TEXT)
    joined: KTable[str, str]
    if word == "join":
        joined = left.join(right, both, on=first_letter, value=TEXT, name=name, store=store)
    else:
        joined = left.left_join(right, both, on=first_letter, value=TEXT, name=name, store=store)
    joined.to_stream().to("out")
    return builder.build()


def results(word: str, steps: list[Step]) -> list[list[tuple[str, str | None, int]]]:
    """Return key, value and time of each result of each step, whose times count from 1."""
    found: list[list[tuple[str, str | None, int]]] = []
    with TopologyTestDriver(topology(word), statestore_cache_max_bytes=0) as driver:
        out = driver.output_topic("out", TEXT, TEXT)
        for time_ms, (topic, key, value) in enumerate(steps, 1):
            driver.input_topic(topic, TEXT, TEXT).pipe(key, value, timestamp_ms=time_ms)
            found.append([(record.key, record.value, record.timestamp_ms) for record in out.read_all()])
    return found


LIFE: list[Step] = [
    ("left", "k", "apple"),
    ("right", "a", "x"),
    ("left", "m", "ape"),
    ("right", "a", "y"),
    ("left", "k", "bear"),
    ("left", "m", ""),
    ("left", "m", None),
    ("right", "b", "z"),
    ("left", "k", None),
    ("left", "k", None),
]


def test_inner_joins_have_results_while_both_rows_are_there() -> None:
    assert results("join", LIFE) == [
        [],
        [("k", "apple+x", 2)],
        [("m", "ape+x", 3)],
        [("k", "apple+y", 4), ("m", "ape+y", 4)],
        [("k", None, 5)],
        [("m", None, 6)],
        [],
        [("k", "bear+z", 8)],
        [("k", None, 9)],
        [],
    ]


def test_left_joins_keep_rows_without_a_partner_or_without_a_foreign_key() -> None:
    assert results("left_join", LIFE) == [
        [("k", "apple+None", 1)],
        [("k", "apple+x", 2)],
        [("m", "ape+x", 3)],
        [("k", "apple+y", 4), ("m", "ape+y", 4)],
        [("k", "bear+None", 5)],
        [("m", "+None", 6)],
        [("m", None, 7)],
        [("k", "bear+z", 8)],
        [("k", None, 9)],
        [],
    ]


@pytest.mark.parametrize(("word", "dropped"), [("join", 2), ("left_join", 0)])
def test_rows_without_a_foreign_key_count_as_dropped_if_they_can_have_no_result(word: str, dropped: int) -> None:
    with TopologyTestDriver(topology(word)) as driver:
        left = driver.input_topic("left", TEXT, TEXT)
        for value in ("ape", "", ""):
            left.pipe("k", value)
        left.pipe("k", None)  # deletions are not
        left.pipe("other", None)
        assert sum(driver.dropped_records.values()) == dropped


def test_answers_for_rows_that_have_changed_since_count_as_dropped(caplog: pytest.LogCaptureFixture) -> None:
    builder = StreamsBuilder()
    read = builder.stream("in", key=TEXT, value=TEXT)
    right = read.map_values(lambda value: value if "b" in value else cast("str", None), value=TEXT).to_table()
    read.to_table().join(right, both, on=first_letter, value=TEXT, name="lookup").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for value in ("ab", "apple"):
            driver.input_topic("in", TEXT, TEXT).pipe("a", value)
        assert sum(driver.dropped_records.values()) == 1
    assert "the left row that it answers has changed since" in caplog.text


def test_a_changed_left_row_gets_a_tombstone_if_its_right_row_may_just_have_gone() -> None:
    steps: list[Step] = [("left", "k", "ape"), ("left", "k", "apple"), ("left", "k", ""), ("left", "k", "ant")]
    # A new row gets none. Rows without a foreign key have no results either, but may have had one before.
    assert results("join", steps) == [[], [("k", None, 2)], [("k", None, 3)], [("k", None, 4)]]


@pytest.mark.parametrize("cache", [0, 1000])
def test_a_result_goes_if_the_left_row_changes_while_the_right_row_is_deleted(cache: int) -> None:
    builder = StreamsBuilder()
    read = builder.stream("in", key=TEXT, value=TEXT)
    right = read.map_values(lambda value: value if "b" in value else cast("str", None), value=TEXT).to_table()
    read.to_table().join(right, both, on=first_letter, value=TEXT).to_stream().to("out")
    with TopologyTestDriver(builder.build(), statestore_cache_max_bytes=cache) as driver:
        for value in ("ab", "apple"):
            driver.input_topic("in", TEXT, TEXT).pipe("a", value)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
    assert [record.value for record in found] == ["ab+ab", None]


def test_a_result_has_the_later_time_of_both_rows_unless_the_right_row_changes() -> None:
    with TopologyTestDriver(topology("join")) as driver:
        left, right = driver.input_topic("left", TEXT, TEXT), driver.input_topic("right", TEXT, TEXT)
        right.pipe("a", "x", timestamp_ms=50)
        left.pipe("k", "apple", timestamp_ms=40)
        right.pipe("a", "y", timestamp_ms=30)
        found = driver.output_topic("out", TEXT, TEXT).read_all()
    assert [(record.value, record.timestamp_ms) for record in found] == [("apple+x", 50), ("apple+y", 30)]


@pytest.mark.parametrize("word", ["join", "left_join"])
def test_named_joins_name_their_topics_and_stores_and_copartition_them(word: str) -> None:
    groups = topology(word, name="lookup", store="both").group_topology("app").subtopologies
    assert [set(group.copartition_groups[0]) for group in groups] == [
        {"left", "app-lookup-subscription-response-topic"},
        {"right", "app-lookup-subscription-registration-topic"},
    ]
    changelogs = [{changelog.name for changelog in group.changelogs} for group in groups]
    assert "app-both-changelog" in changelogs[0]
    assert "app-lookup-subscription-store-changelog" in changelogs[1]


def test_the_result_can_be_queried_and_grouped() -> None:
    builder = StreamsBuilder()
    left = builder.table("left", key=TEXT, value=TEXT)
    joined = left.join(builder.table("right", key=TEXT, value=TEXT), both, on=first_letter, value=TEXT)
    joined.group_by(lambda _, value: (value[-1], value), key=TEXT, value=TEXT).count(store="counts")
    with TopologyTestDriver(builder.build()) as driver:
        lefts, rights = driver.input_topic("left", TEXT, TEXT), driver.input_topic("right", TEXT, TEXT)
        lefts.pipe("k", "apple")
        lefts.pipe("m", "ape")
        rights.pipe("a", "x")
        assert dict(driver.store("counts").all()) == {"x": 2}
        rights.pipe("a", "y")
        assert dict(driver.store("counts").all()) == {"x": 0, "y": 2}


def test_keys_of_both_tables_may_have_different_types_and_the_joiner_may_see_the_key() -> None:
    @frozen
    class Order:
        customer: int

    orders = serdes.of(Order, lambda order: str(order.customer).encode(), lambda data: Order(int(data)))
    builder = StreamsBuilder()
    order_table: KTable[str, Order] = builder.table("orders", key=TEXT, value=orders)
    customers = builder.table("customers", key=serdes.int64, value=TEXT)
    named = order_table.join(
        customers,
        with_key=lambda key, order, name: f"{key}/{order.customer}/{name}",
        on=lambda _, order: order.customer,
    )
    named.to_stream().to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("customers", serdes.int64, TEXT).pipe(7, "Ada")
        driver.input_topic("orders", TEXT, orders).pipe("o1", Order(7))
        assert driver.output_topic("out", TEXT, TEXT).read().value == "o1/7/Ada"


def test_a_row_is_looked_up_in_a_table_without_a_store() -> None:
    builder = StreamsBuilder()
    left = builder.table("left", key=TEXT, value=TEXT)
    right = builder.table("right", key=TEXT, value=TEXT).filter(lambda _, row: row != "hidden")
    left.left_join(right, both, on=first_letter).to_stream().to("out", value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("right", TEXT, TEXT).pipe("a", "hidden")
        driver.input_topic("right", TEXT, TEXT).pipe("b", "seen")
        driver.input_topic("left", TEXT, TEXT).pipe("k", "apple")
        driver.input_topic("left", TEXT, TEXT).pipe("k", "bear")
        found = driver.output_topic("out", TEXT, TEXT).read_all()
    assert [record.value for record in found] == ["apple+None", "bear+seen"]


def test_a_serde_that_is_missing_is_named() -> None:
    builder = StreamsBuilder()
    left = builder.table("left", key=TEXT, value=TEXT).map_values(str.upper)
    left.join(builder.table("right", key=TEXT, value=TEXT), both, on=first_letter)
    with pytest.raises(TopologyError, match="join needs the serde of its values, which map_values left unknown"):
        builder.build()


def test_changelogs_of_subscriptions_have_the_headers_of_the_left_row() -> None:
    with TopologyTestDriver(topology("join", name="fk")) as driver:
        headers = (("trace", b"1"),)
        driver.input_topic("left", TEXT, TEXT).pipe("k", "apple", timestamp_ms=1, headers=headers)
        driver.input_topic("left", TEXT, TEXT).pipe("m", "bear", timestamp_ms=2)
        found = driver.records("test-fk-subscription-store-changelog")
        assert [record.headers for record in found] == [headers, ()]


def by_length(_topic: str, key: str | None, value: None, partitions: int) -> int | None:
    return None if key is None or value is not None else len(key) % partitions


def partitioned(
    partitioner: Partitioner | None = None, other_partitioner: Partitioner | None = None
) -> list[tuple[str, str]]:
    """Return the results of tables whose topics were written by `by_length`."""
    builder = StreamsBuilder()
    left = builder.table("left", key=TEXT, value=TEXT)
    right = builder.table("right", key=TEXT, value=TEXT)
    joined = left.join(
        right,
        both,
        on=lambda _key, value: value,
        value=TEXT,
        partitioner=partitioner,
        other_partitioner=other_partitioner,
    )
    joined.to_stream().to("out")
    with TopologyTestDriver(builder.build(), default_partitions=3) as driver:
        for key, value in (("a", "x"), ("bb", "yy"), ("ccc", "x"), ("dddd", "zzz")):
            driver.input_topic("left", TEXT, TEXT).pipe(key, value, partition=len(key) % 3)
        for key in ("x", "yy", "zzz"):
            driver.input_topic("right", TEXT, TEXT).pipe(key, f"of {key}", partition=len(key) % 3)
        return sorted((each.key, each.value) for each in driver.output_topic("out", TEXT, TEXT).read_all())


def test_partitioners_find_the_rows_of_tables_that_are_partitioned_otherwise() -> None:
    everything = [("a", "x+of x"), ("bb", "yy+of yy"), ("ccc", "x+of x"), ("dddd", "zzz+of zzz")]
    assert partitioned(partitioner=by_length, other_partitioner=by_length) == everything
    assert partitioned(other_partitioner=by_length) == everything  # answers go back to where the left row is
    assert partitioned() != everything


def test_a_partitioner_chooses_one_partition() -> None:
    assert partitioned(other_partitioner=lambda *given: [len(given[1]) % 3])
    with pytest.raises(
        StreamsError, match=r"of a foreign-key join returned \[0, 1\] for topic 'test-KTABLE.*Return one"
    ):
        partitioned(other_partitioner=lambda *_: [0, 1])


def test_joins_by_primary_keys_have_no_partitioners() -> None:
    builder = StreamsBuilder()
    left, right = (builder.table(topic, key=TEXT, value=TEXT) for topic in ("left", "right"))
    joins: list[Any] = [left.join, left.left_join]
    for join in joins:
        for name in ("partitioner", "other_partitioner"):
            with pytest.raises(TypeError, match=f"join: {name}= is for joins by a foreign key"):
                join(right, both, **{name: by_length})


async def awaited(*_given: object) -> None:
    """Do nothing."""


def test_a_partitioner_that_does_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match=r"join: other_partitioner=.* is declared with async def"):
        partitioned(other_partitioner=awaited)  # type: ignore[arg-type]
