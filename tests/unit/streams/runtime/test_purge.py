"""Purging of repartition topics while brokers do not answer, and when such a topic was made again."""

from collections.abc import Iterable

import pytest

from kafka_groups.errors import OperationTimeoutError
from kafka_groups.streams import StreamsBuilder, serdes
from kafka_groups.types import TopicPartition
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import Process
from tests.unit.streams.runtime.test_task_timeout import failing

REPARTITIONED = TopicPartition("app-by-word-repartition", 0)


async def repartitioning() -> Process:
    builder = StreamsBuilder()
    lines = builder.stream("lines", key=serdes.string, value=serdes.string)
    lines.group_by(lambda _, line: line, key=serdes.string, value=serdes.string, name="by-word").count(store="words")
    kafka = FakeKafka({"lines": 1, REPARTITIONED.topic: 1, "app-words-changelog": 1})
    kafka.produce("lines", "a", "to")
    process = Process(kafka, topology=builder.build(), repartition_purge_interval_ms=5_000)
    process.member.assign("0_0", "1_0")
    await process.worker.start()
    return process


async def test_a_deletion_that_is_not_answered_is_logged_and_the_next_one_is_tried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = await repartitioning()
    failures = failing(process, "delete_records", OperationTimeoutError("no answer in 4 s"), 2)
    await process.turn_until(lambda: process.kafka.begins[REPARTITIONED] == 1)
    assert failures() == 2
    assert caplog.text.count("Processed records of repartition topics were not deleted: no answer in 4 s") == 2


async def test_nothing_is_deleted_by_an_offset_of_a_topic_that_was_made_again() -> None:
    process = await repartitioning()
    asked: list[TopicPartition] = []

    def changed(partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        asked.extend(partitions)
        return frozenset([REPARTITIONED])

    process.plane.changed = changed  # type: ignore[method-assign]
    await process.turn_until(lambda: process.has_committed(1, TopicPartition("lines", 0)))
    asked.clear()
    await process.turn_until(lambda: REPARTITIONED in asked)
    assert process.kafka.begins[REPARTITIONED] == 0
