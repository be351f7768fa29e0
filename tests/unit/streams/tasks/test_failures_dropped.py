"""Dropped records: what the log says, and how often."""

from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, TimeWindows, extractors
from kafka_groups.streams.tasks.failures import DroppedRecords
from kafka_groups.testing.topology_driver import TopologyTestDriver
from kafka_groups.types import TaskId

LOGGER = "kafka_groups.streams.tasks.failures"


def test_the_log_names_the_first_record_and_then_fewer_and_fewer(caplog: pytest.LogCaptureFixture) -> None:
    dropped = DroppedRecords(TaskId("1", 2))
    with caplog.at_level("WARNING", LOGGER):
        for offset in range(150):
            dropped.add("SUM", "its key is null", "in", 2, offset)
    assert caplog.messages == [
        "SUM in task 1_2 dropped a record at in-2 offset 0: its key is null",
        "SUM in task 1_2 dropped a record at in-2 offset 9: its key is null (10 such records so far)",
        "SUM in task 1_2 dropped a record at in-2 offset 99: its key is null (100 such records so far)",
    ]
    assert dropped.counts == {("SUM", "its key is null"): 150}


def test_each_node_and_reason_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    dropped = DroppedRecords(TaskId("0", 0))
    with caplog.at_level("WARNING", LOGGER):
        for node, reason in (("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")):
            dropped.add(node, reason, None, -1, -1)
    assert caplog.messages == [
        "a in task 0_0 dropped a record of a punctuation: x",
        "a in task 0_0 dropped a record of a punctuation: y",
        "b in task 0_0 dropped a record of a punctuation: x",
    ]


def test_the_log_has_the_error_of_the_record(caplog: pytest.LogCaptureFixture) -> None:
    dropped = DroppedRecords(TaskId("0", 0))
    with caplog.at_level("WARNING", LOGGER):
        for number in range(10):
            dropped.add("a", "somebody has skipped it", "in", 0, number, error=ValueError(f"number {number}"))
    first, tenth = caplog.messages
    assert (
        first == "a in task 0_0 dropped a record at in-0 offset 0: somebody has skipped it after ValueError: number 0"
    )
    assert tenth.endswith("has skipped it after ValueError: number 9 (10 such records so far)")


def test_the_driver_logs_a_late_record(caplog: pytest.LogCaptureFixture) -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string, value=serdes.string).group_by_key()
    grouped.windowed_by(TimeWindows(timedelta(seconds=1), grace=timedelta(0))).count(name="counted")
    with TopologyTestDriver(builder.build()) as driver, caplog.at_level("WARNING", LOGGER):
        topic = driver.input_topic("in", serdes.string, serdes.string)
        topic.pipe("k", "v", timestamp_ms=5_000)
        topic.pipe("k", "v", timestamp_ms=4_000)
    (text,) = caplog.messages
    assert text.endswith(" in task 0_0 dropped a record at in-0 offset 1: its window is closed")


def test_a_source_logs_the_record_whose_timestamp_is_negative(caplog: pytest.LogCaptureFixture) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string, name="read").to("out")
    driver = TopologyTestDriver(builder.build(), timestamp=extractors.skip_invalid)
    with driver, caplog.at_level("WARNING", LOGGER):
        topic = driver.input_topic("in", serdes.string, serdes.string)
        topic.pipe("k", "v", timestamp_ms=0)
        for timestamp_ms in (-1, -2):
            topic.pipe("k", "v", timestamp_ms=timestamp_ms)
        assert driver.dropped_records == {"read": 2}
    assert caplog.messages == ["read in task 0_0 dropped a record at in-0 offset 1: its timestamp is negative"]
