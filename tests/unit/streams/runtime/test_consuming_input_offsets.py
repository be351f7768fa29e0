"""Stores note the input offsets of each commit together with its changes."""

import logging
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from kafka_groups.streams import KeyValueStore, Position, Record, StreamsBuilder, TimeWindows, Topology, serdes, stores
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.runtime.assigned import OwnedTask
from kafka_groups.streams.runtime.commits import Commits
from kafka_groups.streams.state.position import inputs_in
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import COUNTS, INPUT, Process, brokers, enriched

TASK = TaskId("0", 0)
BOTH_GUARANTEES = pytest.mark.parametrize("is_exactly_once", [False, True])
SECOND = timedelta(seconds=1)
LOCAL = stores.key_value("local", serdes.string, serdes.string, persistent=True, changelog=False)


def keep(record: Record[str, str], store: KeyValueStore[str, str]) -> None:
    store.put(record.key, record.value)


def keeping() -> Topology:
    builder = StreamsBuilder()
    builder.add_state_store(LOCAL)
    builder.stream("words", key=serdes.string, value=serdes.string).process(keep, stores=[LOCAL])
    return builder.build()


def mixed() -> Topology:
    """Return a topology whose task has a store on disk and one in memory."""
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string).group_by_key()
    words.count(store=stores.key_value("kept", serdes.string, serdes.int64, persistent=True))
    windows = stores.window("lost", serdes.string, serdes.int64, size=SECOND, retention=SECOND, persistent=False)
    words.windowed_by(TimeWindows(SECOND, grace=timedelta(0))).count(store=windows)
    return builder.build()


def words(count: int, kafka: FakeKafka | None = None) -> FakeKafka:
    kafka = kafka or brokers()
    for _ in range(count):
        kafka.produce("words", "be", "x")
    return kafka


async def ran(process: Process, count: int) -> OwnedTask:
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running and process.has_committed(count))
    return process.worker.tasks[TASK]


def inputs_of(task: OwnedTask, store: str = "counts") -> dict[TopicPartition, int]:
    with task.engine.moment(store) as reader:
        return inputs_in(reader.notes)


@BOTH_GUARANTEES
async def test_each_commit_notes_its_offsets(is_exactly_once: bool) -> None:
    kafka = words(3)
    process = Process(kafka, is_exactly_once=is_exactly_once)
    task = await ran(process, 3)
    assert inputs_of(task) == {INPUT: 3}
    assert task.task.states["counts"].position == Position({"words": {0: 2}})  # type: ignore[attr-defined]
    words(1, kafka)
    seen: list[dict[TopicPartition, int]] = []
    commit = Commits._committed

    def looked(self: Commits, each: OwnedTask, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        seen.append(inputs_of(each))
        commit(self, each, offsets)
        seen.append(inputs_of(each))

    with patch.object(Commits, "_committed", looked):
        await process.turn_until(lambda: process.has_committed(4))
    assert seen[-2:] == [{INPUT: 3}, {INPUT: 4}]


async def test_a_record_that_changes_no_store_moves_the_position() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("words", key=serdes.string, value=serdes.string)
    stream.filter(lambda _, value: value == "x").group_by_key().count(store=COUNTS)
    kafka = words(1)
    process = Process(kafka, topology=builder.build())
    task = await ran(process, 1)
    kafka.produce("words", "be", "filtered")
    await process.turn_until(lambda: process.has_committed(2))
    assert inputs_of(task) == {INPUT: 2}


async def test_a_restored_store_has_what_the_group_has_committed() -> None:
    kafka = words(3)
    first = Process(kafka)
    await ran(first, 3)
    await first.worker.close()
    assert inputs_of(await ran(Process(kafka), 3)) == {INPUT: 3}


async def test_stores_on_disk_and_in_memory_have_the_same_offsets_after_a_restart(tmp_path: Path) -> None:
    kafka = FakeKafka({"words": 1, "app-kept-changelog": 1, "app-lost-changelog": 1})
    words(3, kafka)

    def process() -> Process:
        return Process(kafka, topology=mixed(), engines=DiskEngines(tmp_path, "boot 1", ManualClock()))

    for _ in range(2):
        each = process()
        task = await ran(each, 3)
        assert inputs_of(task, "kept") == inputs_of(task, "lost") == {INPUT: 3}
        await each.worker.close()


async def test_a_restart_without_anything_new_writes_nothing(tmp_path: Path) -> None:
    kafka = words(3)
    for _ in range(2):
        process = Process(kafka, engines=DiskEngines(tmp_path, "boot 1", ManualClock()))
        await ran(process, 3)
        await process.worker.close()
    with patch.object(LmdbEngine, "_write", side_effect=AssertionError("nothing is new")):
        process = Process(kafka, engines=DiskEngines(tmp_path, "boot 1", ManualClock()))
        await ran(process, 3)
        await process.worker.close()


async def test_global_stores_note_what_they_have_read() -> None:
    kafka = FakeKafka({"names": 1, "orders": 1, "named": 1})
    kafka.produce("names", "a", "Ann")
    process = Process(kafka, topology=enriched())
    await process.worker.start()
    await process.turn_until(lambda: process.worker._globals.is_loaded)
    (store,) = process.worker.stores
    (engine,) = process.worker.engines(store)
    assert inputs_in(engine.notes) == {TopicPartition("names", 0): 1}


async def test_a_store_without_a_changelog_warns_about_what_it_lacks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = words(3, FakeKafka({"words": 1}))

    def process() -> Process:
        return Process(kafka, topology=keeping(), engines=DiskEngines(tmp_path, "boot 1", ManualClock()))

    async def restart() -> list[str]:
        caplog.clear()
        again = process()
        task = await ran(again, kafka.committed[INPUT].offset)
        assert inputs_of(task, "local") == {INPUT: kafka.committed[INPUT].offset}
        await again.worker.close()
        return [each.message for each in caplog.records if each.levelno == logging.WARNING]

    await (first := process()).worker.start()
    first.member.assign("0_0")
    await first.turn_until(lambda: first.has_committed(3))
    await first.worker.close()
    assert await restart() == []
    words(2, kafka)
    kafka.committed[INPUT] = OffsetAndMetadata(5)  # by a process that was killed before it had stored that
    (warning,) = await restart()
    assert warning == (
        "The stores of task 0_0 without a changelog (local) lack the changes of up to 2 records, which the group has "
        "committed: the process was killed before it had stored them, or another process had the task in the meantime."
    )
    assert await restart() == []


async def test_a_store_with_a_changelog_lacks_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kafka = words(3)
    first = Process(kafka, engines=DiskEngines(tmp_path, "boot 1", ManualClock()))
    await ran(first, 3)
    await first.worker.close()
    words(2, kafka)
    kafka.committed[INPUT] = OffsetAndMetadata(5)
    await ran(Process(kafka, engines=DiskEngines(tmp_path, "boot 1", ManualClock())), 5)
    assert "lack" not in caplog.text
