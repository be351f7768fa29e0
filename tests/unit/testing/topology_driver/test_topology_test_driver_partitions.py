"""A driver with several partitions: tasks, partitions of records, stores, restarts, and numbers that are refused."""

import re
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.records.partitioning import partition_of
from kafka_groups.streams import (
    SessionWindows,
    StreamsBuilder,
    StreamsError,
    TimeWindows,
    Topology,
    TopologyError,
    stores,
)
from kafka_groups.streams.processors.extractors import fail_on_invalid
from kafka_groups.testing.topology_driver import TopologyTestDriver
from kafka_groups.testing.topology_driver.topics import CapturedRecord

TEXT = serdes.string
KEYS = ("a", "b", "c", "d", "e", "f")
COUNTS = stores.key_value("counts", TEXT, serdes.int64)
WINDOWS = stores.window("windows", TEXT, serdes.int64, size=timedelta(seconds=1), retention=timedelta(minutes=1))
SESSIONS = stores.session("sessions", TEXT, serdes.int64, retention=timedelta(minutes=1))


def counting() -> Topology:
    builder = StreamsBuilder()
    texts = builder.stream("in", key=TEXT, value=TEXT)
    texts.group_by(lambda _, text: text, key=TEXT, value=TEXT).count(store=COUNTS).to_stream().to("out")
    return builder.build()


def windowed() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=TEXT, value=TEXT).group_by_key()
    windows = TimeWindows(timedelta(seconds=1), grace=timedelta(0))
    grouped.windowed_by(windows).count(store=WINDOWS).to_stream().to("out")
    grouped.windowed_by(SessionWindows(timedelta(seconds=1), grace=timedelta(0))).count(store=SESSIONS)
    return builder.build()


def pipe_all(driver: TopologyTestDriver, topic: str = "in", *, timestamp_ms: int = 0) -> None:
    into = driver.input_topic(topic, TEXT, TEXT)
    for key in KEYS:
        into.pipe(key, key, timestamp_ms=timestamp_ms)


def placed(driver: TopologyTestDriver, topic: str) -> dict[Any, set[int]]:
    found: dict[Any, set[int]] = {}
    for record in driver.records(topic):
        found.setdefault(record.key, set()).add(record.partition)
    return found


def test_keys_go_to_the_partitions_that_java_chooses() -> None:
    with TopologyTestDriver(counting(), partitions={"in": 3, "out": 4}) as driver:
        pipe_all(driver)
        assert placed(driver, "test-counts-repartition") == {
            key.encode(): {partition_of(key.encode(), 3)} for key in KEYS
        }
        assert placed(driver, "out") == {key.encode(): {partition_of(key.encode(), 4)} for key in KEYS}
        changelog = placed(driver, "test-counts-changelog")
        assert changelog == placed(driver, "test-counts-repartition")
        assert len({partition for each in changelog.values() for partition in each}) > 1
        assert repr(driver) == "<TopologyTestDriver 'test': 6 tasks>"


def test_a_store_is_read_as_one_or_by_partition() -> None:
    with TopologyTestDriver(counting(), default_partitions=3) as driver:
        pipe_all(driver)
        assert list(driver.store(COUNTS).all()) == [(key, 1) for key in KEYS]
        assert list(driver.store(COUNTS).range("b", "d", reverse=True)) == [("d", 1), ("c", 1), ("b", 1)]
        assert [driver.store(COUNTS).get(key) for key in (*KEYS, "x")] == [1] * 6 + [None]
        of_a = partition_of(b"a", 3)
        assert [driver.store(COUNTS, partition=each).get("a") for each in range(3)] == [
            1 if each == of_a else None for each in range(3)
        ]
        with pytest.raises(StreamsError, match=r"'counts' has 3 partitions.*partition= to change it"):
            driver.store(COUNTS).put("a", 5)
        driver.store(COUNTS, partition=of_a).put("a", 5)
        assert driver.store(COUNTS).get("a") == 5
        with pytest.raises(LookupError, match="Store 'counts' has no partition 3: it has 3, counted from 0"):
            driver.store(COUNTS, partition=3)


def test_windows_and_sessions_of_all_partitions_come_in_order() -> None:
    with TopologyTestDriver(windowed(), default_partitions=3) as driver:
        pipe_all(driver)
        pipe_all(driver, timestamp_ms=5000)
        windows = [(each.key, each.window.start_ms, count) for each, count in driver.store(WINDOWS).all()]
        assert windows == [(key, start, 1) for start in (0, 5000) for key in KEYS]
        assert list(driver.store(WINDOWS).fetch("d", 0, 9000)) == [(0, 1), (5000, 1)]
        assert driver.store(WINDOWS).get("d", 5000) == 1
        sessions = [(each.key, each.window.end_ms) for each, _ in driver.store(SESSIONS).all(reverse=True)]
        assert sessions == [(key, end) for end in (5000, 0) for key in reversed(KEYS)]
        assert [count for _, count in driver.store(SESSIONS).fetch("d")] == [1, 1]
        assert driver.store(SESSIONS).get("d", 5000, 5000) == 1
        assert driver.store(SESSIONS).get("d", 1, 1) is None


def test_all_windows_of_a_key_are_in_the_partition_of_the_key() -> None:
    with TopologyTestDriver(windowed(), default_partitions=5) as driver:
        for timestamp_ms in range(0, 10_000, 1000):
            pipe_all(driver, timestamp_ms=timestamp_ms)
        for record in driver.records("out"):
            assert record.key is not None
            assert record.partition == partition_of(record.key[:-8], 5)


def test_a_restart_restores_each_partition_from_its_own_changelog() -> None:
    with TopologyTestDriver(counting(), partitions={"in": 3}) as driver:
        pipe_all(driver)
        before = [list(driver.store(COUNTS, partition=each).all()) for each in range(3)]
        driver.restart()
        assert [list(driver.store(COUNTS, partition=each).all()) for each in range(3)] == before
        assert len([part for part in before if part]) > 1
        pipe_all(driver)
        assert list(driver.store(COUNTS).all()) == [(key, 2) for key in KEYS]


def test_records_without_a_key_take_turns() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).to("out")
    with TopologyTestDriver(builder.build(), partitions={"in": 2, "out": 3}) as driver:
        for _ in range(4):
            driver.input_topic("in", TEXT, TEXT).pipe(None, "x")
        assert [record.partition for record in driver.records("out")] == [0, 1, 2, 0]


def test_a_record_can_be_piped_into_a_partition_and_its_task_says_which() -> None:
    places: list[tuple[str, int, int]] = []

    def extract(record: Any, partition_time_ms: int) -> int:
        places.append((record.topic, record.partition, record.offset))
        return fail_on_invalid(record, partition_time_ms)

    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT, timestamp=extract).to("out")
    with TopologyTestDriver(builder.build(), partitions={"in": 3}) as driver:
        into = driver.input_topic("in", TEXT, TEXT)
        for partition in (2, 0, 2):
            into.pipe("k", "v", partition=partition)
        assert places == [("in", 2, 0), ("in", 0, 0), ("in", 2, 1)]
        with pytest.raises(LookupError, match="Topic 'in' has no partition 3: it has 3, counted from 0"):
            into.pipe("k", "v", partition=3)


def test_partitioners_choose_one_partition_several_or_none() -> None:
    chosen: dict[str, Any] = {"one": 2, "several": [0, 1], "none": [], "default": None}
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).to("out", partitioner=lambda _topic, _key, value, _count: chosen[value])
    with TopologyTestDriver(builder.build(), partitions={"out": 3}) as driver:
        for value in chosen:
            driver.input_topic("in", TEXT, TEXT).pipe("k", value)
        assert [(record.value, record.partition) for record in driver.records("out")] == [
            (b"one", 2),
            (b"several", 0),
            (b"several", 1),
            (b"default", partition_of(b"k", 3)),
        ]


def test_a_partition_that_a_topic_does_not_have_is_refused_if_its_number_was_given() -> None:
    builder = StreamsBuilder()
    moved = builder.stream("in", key=TEXT, value=TEXT).repartition(partitioner=lambda *_: 2, name="moved")
    moved.to("out")
    with TopologyTestDriver(builder.build(), partitions={}) as driver:
        into = driver.input_topic("in", TEXT, TEXT)
        with pytest.raises(StreamsError, match="chose partition 2 of topic 'test-moved-repartition', which has 1"):
            into.pipe("k", "v")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", TEXT, TEXT).pipe("k", "v")
        assert [record.partition for record in driver.records("test-moved-repartition")] == [2]
        assert [record.value for record in driver.records("out")] == [b"v"]


def test_a_global_table_has_all_partitions() -> None:
    builder = StreamsBuilder()
    names = builder.global_table("names", key=TEXT, value=TEXT, store="names")
    stream = builder.stream("in", key=TEXT, value=TEXT)
    stream.join(names, lambda value, name: value + name, on=lambda key, _: key).to("out", value=TEXT)
    with TopologyTestDriver(builder.build(), partitions={"names": 4, "in": 3}) as driver:
        pipe_all(driver, "names")
        pipe_all(driver)
        assert sorted(record.value or b"" for record in driver.records("out")) == [2 * key.encode() for key in KEYS]
        driver.restart()
        assert list(driver.store("names").all()) == [(key, key) for key in KEYS]
        pipe_all(driver)
        assert len(driver.records("out")) == 12


def joining(repartitioned: int | None = None) -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", key=TEXT, value=TEXT)
    if repartitioned is not None:
        orders = orders.repartition(partitions=repartitioned, name="again")
    orders.join(builder.table("customers", key=TEXT, value=TEXT), lambda a, b: a + b).to("out", value=TEXT)
    return builder.build()


def test_a_join_finds_partners_in_every_partition() -> None:
    with TopologyTestDriver(joining(), partitions={"orders": 3, "customers": 3}) as driver:
        pipe_all(driver, "customers")
        pipe_all(driver, "orders")
        assert sorted(record.value or b"" for record in driver.records("out")) == [2 * key.encode() for key in KEYS]


def test_foreign_key_joins_answer_to_the_partition_of_the_left_row() -> None:
    builder = StreamsBuilder()
    left = builder.table("left", key=TEXT, value=TEXT)
    right = builder.table("right", key=TEXT, value=TEXT)
    joined = left.join(right, lambda a, b: a + b, on=lambda _key, value: value, value=TEXT, store="joined")
    joined.to_stream().to("out", value=TEXT)
    with TopologyTestDriver(builder.build(), partitions={"left": 3, "right": 2}) as driver:
        into = driver.input_topic("left", TEXT, TEXT)
        for key in KEYS:
            into.pipe(key, f"r{key}")
        rows = driver.input_topic("right", TEXT, TEXT)
        for key in KEYS:
            rows.pipe(f"r{key}", "!")
        assert [(key, value) for key, value in driver.store("joined").all()] == [(key, f"r{key}!") for key in KEYS]


@pytest.mark.parametrize(
    ("topology", "partitions", "message"),
    [
        (joining(), {"orders": 3}, r"customers \(1\), orders \(3\).*status INCORRECTLY_PARTITIONED_TOPICS"),
        (
            joining(4),
            {"customers": 3},
            r"again-repartition has 4 partitions, .* have 3\..*INCORRECTLY_PARTITIONED_TOPICS",
        ),
        (counting(), {"in": 3, "test-counts-changelog": 2}, r"test-counts-changelog has 2 partitions.*needs 3"),
    ],
)
def test_numbers_that_a_group_would_refuse_are_errors(
    topology: Topology, partitions: dict[str, int], message: str
) -> None:
    with pytest.raises(TopologyError, match=message):
        TopologyTestDriver(topology, partitions=partitions)


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "3"])
def test_a_number_of_partitions_is_positive(count: Any) -> None:
    with pytest.raises(ValueError, match=r"for in is not a number of partitions\. Use 1 or more"):
        TopologyTestDriver(counting(), partitions={"in": count})


@pytest.mark.parametrize("count", [0, -1, 1.5, "3"])
def test_the_default_number_of_partitions_is_positive(count: Any) -> None:
    with pytest.raises(ValueError, match="for any topic is not a number"):
        TopologyTestDriver(counting(), default_partitions=count)


def test_a_topic_with_fewer_partitions_is_read_by_the_first_tasks() -> None:
    builder = StreamsBuilder()
    builder.stream("few", "many", key=TEXT, value=TEXT).to("out")
    with TopologyTestDriver(builder.build(), partitions={"few": 1, "many": 3}) as driver:
        pipe_all(driver, "few")
        pipe_all(driver, "many")
        assert len(driver.records("out")) == 12
        assert repr(driver) == "<TopologyTestDriver 'test': 3 tasks>"


# ----------------------------------------------------------------------------------------------------- patterns


def counting_matches() -> Topology:
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*"), key=TEXT, value=TEXT).group_by_key().count(store=COUNTS).to_stream().to("out")
    builder.stream("other", key=TEXT, value=TEXT).to("in-of-own")
    return builder.build()


def test_a_pattern_reads_whatever_matches_also_what_the_topology_writes() -> None:
    with TopologyTestDriver(counting_matches()) as driver:
        for topic in ("in-1", "in-2", "in-1", "other"):
            driver.input_topic(topic, TEXT, TEXT).pipe("k", topic)
        assert driver.store(COUNTS).get("k") == 4
        driver.restart()
        assert driver.store(COUNTS).get("k") == 4
        for topic in ("in-2", "in-3"):
            driver.input_topic(topic, TEXT, TEXT).pipe("k", topic)
        assert driver.store(COUNTS).get("k") == 6
        with pytest.raises(
            LookupError, match=r"topic 'out'. It reads: all that match 'in-\.\*', in-1, in-2, in-3, in-of-own, other\."
        ):
            driver.input_topic("out", TEXT, TEXT)


def test_topics_of_a_pattern_have_partitions_too() -> None:
    with TopologyTestDriver(counting_matches(), partitions={"in-1": 3, "in-2": 3}) as driver:
        for topic in ("in-1", "in-2"):
            pipe_all(driver, topic)
        assert [driver.store(COUNTS).get(key) for key in KEYS] == [2] * len(KEYS)
        assert set().union(*placed(driver, "test-counts-changelog").values()) == {0, 1, 2}
    with TopologyTestDriver(counting_matches(), default_partitions=2) as driver:
        pipe_all(driver, "in-1")
        assert repr(driver) == "<TopologyTestDriver 'test': 4 tasks>"


def test_a_topic_of_a_pattern_has_at_most_as_many_partitions_as_there_are_tasks() -> None:
    driver = TopologyTestDriver(counting_matches(), partitions={"in-1": 1}, default_partitions=2)
    with pytest.raises(
        TopologyError, match=r"'in-2' has 2 partitions, but .* has 1 task\. Name the topic with partitions="
    ):
        driver.input_topic("in-2", TEXT, TEXT)


def test_a_topic_that_two_patterns_match_is_refused() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*"), key=TEXT, value=TEXT).to("one")
    builder.stream(re.compile(".*-1"), key=TEXT, value=TEXT).to("two")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in-2", TEXT, TEXT).pipe("k", "v")
        with pytest.raises(TopologyError, match="'in-1' matches the pattern"):
            driver.input_topic("in-1", TEXT, TEXT)


def test_records_that_wait_in_the_only_queue_are_processed_when_another_topic_comes() -> None:
    builder = StreamsBuilder()
    lines = builder.stream(re.compile("in-.*"), key=TEXT, value=TEXT)
    first = lines.filter(lambda _, value: value == "first")
    first.map_values(lambda _: "late", value=TEXT).to(lambda *_: "in-late")
    lines.to("out")
    with TopologyTestDriver(builder.build()) as driver:
        source = driver.input_topic("in-1", TEXT, TEXT)
        driver._arrived.extend(
            CapturedRecord("in-1", 0, b"k", value, 0, ()) for value in (b"first", b"second", b"third")
        )
        source.pipe("k", "fourth", timestamp_ms=0)
        assert sorted(record.value or b"" for record in driver.records("out")) == [
            b"first", b"fourth", b"late", b"second", b"third",
        ]  # fmt: skip
