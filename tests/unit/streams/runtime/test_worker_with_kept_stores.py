"""Workers whose stores are on disk: restarts continue with them, and their files fail in every way."""

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any
from unittest.mock import patch
from uuid import UUID

import lmdb
import pytest

from kafka_groups import serdes
from kafka_groups.streams import Optimization, StreamsBuilder, Topology, stores
from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DiskEngine
from kafka_groups.streams.runtime.assigned import TaskRole
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka, Faults, Killed, LogEntry
from tests.unit.streams.runtime.counting import CHANGELOG, INPUT, Process, brokers, restored

WORDS = ("to", "be", "or", "not", "to", "be")
TASK, OTHER = TaskId("0", 0), TaskId("0", 1)
LOGGED, SECOND = TopicPartition(CHANGELOG, 0), TopicPartition("words", 1)
BOTH_GUARANTEES = pytest.mark.parametrize("is_exactly_once", [False, True])


class Disk:
    """The folder of the application, and the engines that this test has open in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open: list[DiskEngine] = []

    def process(self, kafka: FakeKafka, faults: Faults | None = None, boot: str = "boot 1", **settings: Any) -> Process:
        return Process(kafka, faults, engines=DiskEngines(self.folder, boot, ManualClock()), **settings)

    def kill(self) -> None:
        """End whoever has files open, as the system does it with a process that is killed."""
        for engine in self.open:
            if engine.is_open:
                LmdbEngine.close(engine)
                engine._generation.disown()
        self.open.clear()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path)
    init = DiskEngine.__init__

    def noted(engine: DiskEngine, generation: Generation) -> None:
        init(engine, generation)
        made.open.append(engine)

    with patch.object(DiskEngine, "__init__", noted):
        yield made
    made.kill()


def with_words(partitions: int = 1) -> FakeKafka:
    kafka = brokers(partitions)
    for place in range(partitions):
        for at, word in enumerate(WORDS):
            kafka.produce("words", word, "", timestamp_ms=at, partition=place)
    return kafka


async def counted(process: Process) -> Process:
    """Let a process with one task count to the end."""
    kafka = process.kafka
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running and process.has_committed(len(kafka.logs[INPUT])))
    return process


def kept(process: Process, store: str = "counts") -> Counter[str]:
    table = process.worker.tasks[TASK].engine.table(store)
    return Counter({key.decode(): int.from_bytes(value[8:], "big") for key, value in table.scan(b"", None)})


@BOTH_GUARANTEES
async def test_a_restart_continues_with_what_is_there_and_reads_nothing_again(
    disk: Disk, is_exactly_once: bool
) -> None:
    kafka = with_words()
    first = await counted(disk.process(kafka, is_exactly_once=is_exactly_once))
    await first.worker.close()
    kafka.produce("words", "be", "")
    second = await counted(disk.process(kafka, is_exactly_once=is_exactly_once))
    assert second.worker.sensors.restored.total == 0
    assert kept(second) == restored(kafka) == Counter((*WORDS, "be"))


@BOTH_GUARANTEES
async def test_whenever_a_process_is_killed_its_store_continues_as_the_changelog_says(
    disk: Disk, caplog: pytest.LogCaptureFixture, is_exactly_once: bool
) -> None:
    kills, folder = 0, disk.folder
    for at in range(1, 1_000):
        disk.folder = folder / f"killed at {at}"
        kafka, faults = with_words(), Faults(at)
        try:
            await counted(disk.process(kafka, faults, is_exactly_once=is_exactly_once))
        except Killed:
            kills += 1
        disk.kill()
        again = await counted(disk.process(kafka, is_exactly_once=is_exactly_once))
        assert kept(again) == restored(kafka), f"killed at call {at}"
        assert restored(kafka) == Counter(WORDS) if is_exactly_once else restored(kafka) >= Counter(WORDS)
        disk.kill()
        if faults.calls < at:
            break
    assert kills > 15
    assert "deleted" not in caplog.text, "no state is thrown away because of a kill"


async def test_a_standby_that_runs_reads_nothing_again(disk: Disk) -> None:
    kafka = with_words()
    await (await counted(Process(kafka))).worker.close()
    standby = disk.process(kafka)
    standby.member.assign(standby=["0_0"])
    await standby.worker.start()
    await standby.turn_until(lambda: standby.worker.tasks)
    task = standby.worker.tasks[TASK]
    await standby.turn_until(lambda: task.applied.get(LOGGED) == len(kafka.logs[LOGGED]))
    followed = standby.worker.sensors.restored.total
    standby.member.promote("0_0")
    await standby.turn_until(lambda: standby.worker.is_running and standby.worker.tasks[TASK].role is TaskRole.ACTIVE)
    assert standby.worker.sensors.restored.total == followed > 0
    assert kept(standby) == Counter(WORDS)


def two_stores(*, is_kept: bool) -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string).group_by_key()
    words.count(store=stores.key_value("counts", serdes.string, serdes.int64, persistent=True))
    words.count(store=stores.key_value("others", serdes.string, serdes.int64, persistent=is_kept))
    return builder.build()


async def test_a_store_that_was_on_disk_and_is_in_memory_now_is_restored(disk: Disk) -> None:
    kafka = with_words()
    kafka.counts["app-others-changelog"] = 1
    await (await counted(disk.process(kafka, topology=two_stores(is_kept=True)))).worker.close()
    again = await counted(disk.process(kafka, topology=two_stores(is_kept=False)))
    assert kept(again) == kept(again, "others") == Counter(WORDS)
    assert again.worker.sensors.restored.total == len(set(WORDS))


@BOTH_GUARANTEES
async def test_a_source_that_serves_as_changelog_continues_at_the_committed_offset(
    disk: Disk, is_exactly_once: bool
) -> None:
    builder = StreamsBuilder(optimization=Optimization.SOURCE_TOPICS_AS_CHANGELOGS)
    rows = stores.timestamped_key_value("rows", serdes.string, serdes.string, persistent=True)
    builder.table("words", key=serdes.string, value=serdes.string, store=rows)
    topology, kafka = builder.build(), with_words()
    settings: Any = {"topology": topology, "is_exactly_once": is_exactly_once}
    first = await counted(disk.process(kafka, **settings))
    assert first.worker.tasks[TASK].engine.positions == {INPUT: len(WORDS)}
    await first.worker.close()
    kafka.produce("words", "is", "new")
    second = await counted(disk.process(kafka, **settings))
    assert second.worker.sensors.restored.total == 0
    task = second.worker.tasks[TASK]
    assert task.engine.positions == {INPUT: len(WORDS) + 1}
    assert [key for key, _ in task.engine.table("rows").scan(b"", None)] == sorted(
        word.encode() for word in {*WORDS, "is"}
    )


async def test_a_changelog_that_was_emptied_wipes_the_store_and_the_next_commit_has_the_logs_position(
    disk: Disk,
) -> None:
    kafka = with_words()
    first = await counted(disk.process(kafka))
    await first.worker.close()
    kafka.logs[LOGGED].clear()
    second = await counted(disk.process(kafka))
    kafka.produce("words", "be", "")
    await second.turn_until(lambda: second.has_committed(len(WORDS) + 1))
    assert second.worker.tasks[TASK].engine.positions == {LOGGED: 1}
    assert kept(second) == Counter({"be": 1})


# ------------------------------------------------------------------------------------------------------------- failures


@BOTH_GUARANTEES
async def test_a_full_disk_stops_its_task_until_there_is_room_and_no_other(
    disk: Disk, caplog: pytest.LogCaptureFixture, is_exactly_once: bool
) -> None:
    kafka = with_words(2)
    process = disk.process(kafka, is_exactly_once=is_exactly_once)
    process.member.assign("0_0", "0_1")
    await process.worker.start()
    write, full = LmdbEngine._write, ["0_0"]

    def written(engine: LmdbEngine, *args: Any) -> None:
        if any(task in str(engine) for task in full):
            raise lmdb.DiskError("No space left on device")
        write(engine, *args)

    with patch.object(LmdbEngine, "_write", written):
        await process.turn_until(lambda: "Task 0_0 waits for its stores" in caplog.text)
        kafka.produce("words", "be", "", partition=1)
        await process.turn_until(lambda: process.has_committed(len(WORDS) + 1, SECOND))
        assert not process.worker.is_running
        full.clear()
        await process.turn_until(lambda: process.worker.is_running)
    kafka.produce("words", "be", "")
    await process.turn_until(lambda: process.has_committed(len(WORDS) + 1))
    assert kept(process) == Counter((*WORDS, "be"))
    assert "No space left on device" in caplog.text
    assert "bytes are free there" in caplog.text


@BOTH_GUARANTEES
async def test_damage_that_a_read_finds_wipes_the_task_and_its_store_is_restored(
    disk: Disk, caplog: pytest.LogCaptureFixture, is_exactly_once: bool
) -> None:
    kafka = with_words()
    process = await counted(disk.process(kafka, is_exactly_once=is_exactly_once))
    get, damage = LmdbEngine.get, ["page 7"]

    def found(engine: LmdbEngine, *args: Any) -> bytes | None:
        if damage:
            raise engine._error(lmdb.CorruptedError(damage.pop()))
        return get(engine, *args)

    with patch.object(LmdbEngine, "get", found):
        kafka.produce("words", "be", "")
        await process.turn_until(lambda: process.has_committed(len(WORDS) + 1) and process.worker.is_running)
    assert kept(process) == restored(kafka) == Counter((*WORDS, "be"))
    assert process.worker.sensors.restored.total > 0
    assert "page 7" in caplog.text


async def test_files_that_were_open_when_the_machine_stopped_are_restored_and_not_opened(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = with_words()
    await counted(disk.process(kafka))
    disk.kill()
    again = await counted(disk.process(kafka, boot="boot 2"))
    assert kept(again) == Counter(WORDS)
    (warning,) = [each for each in caplog.records if each.levelno == logging.WARNING and "deleted" in each.message]
    assert "they were open when the machine stopped" in warning.message


# ------------------------------------------------------------------------------------------------- state without a task


async def left_by_both(disk: Disk) -> FakeKafka:
    """Leave the state of two tasks."""
    kafka = with_words(2)
    process = disk.process(kafka)
    process.member.assign("0_0", "0_1")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(len(WORDS)) and process.has_committed(len(WORDS), SECOND))
    await process.worker.close()
    return kafka


async def test_state_without_a_task_is_told_also_when_the_group_has_assigned_another_task(disk: Disk) -> None:
    kafka = await left_by_both(disk)
    process = disk.process(kafka)
    await process.worker.start()
    left = process.worker.positions()
    assert left.keys() == {TASK, OTHER}
    process.member.assign("0_0")
    await process.turn_until(lambda: process.worker.is_running and TASK in process.worker.tasks)
    told = process.worker.positions()
    assert told[OTHER] == left[OTHER]
    assert told[TASK].is_running
    process.member.assign("0_1")
    await process.turn_until(lambda: process.worker.is_running and OTHER in process.worker.tasks)
    assert process.worker.positions()[OTHER].is_running


async def test_state_of_a_task_that_has_gone_is_told_until_it_is_deleted(disk: Disk) -> None:
    kafka = await left_by_both(disk)
    process = disk.process(kafka)
    process.member.assign("0_0", "0_1")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running and OTHER in process.worker.tasks)
    position = process.worker.positions()[OTHER]
    process.member.revoke("0_1")
    await process.turn_until(lambda: OTHER not in process.worker.tasks)
    assert process.worker.positions().keys() == {TASK}
    process.clock.advance(600_000)
    await process.worker.turn()
    assert process.worker.positions()[OTHER].offset == position.offset
    assert process.worker.positions()[TASK].is_running
    rmtree(disk.folder / "tasks" / "0_1")
    process.clock.advance(600_000)
    await process.worker.turn()
    assert process.worker.positions().keys() == {TASK}


async def test_one_of_several_workers_tells_of_its_own_tasks_alone_as_soon_as_it_has_some(disk: Disk) -> None:
    kafka = await left_by_both(disk)
    process = disk.process(kafka, is_alone=False)
    await process.worker.start()
    assert process.worker.positions().keys() == {TASK, OTHER}
    process.member.assign("0_0")
    await process.turn_until(lambda: process.worker.is_running and TASK in process.worker.tasks)
    assert process.worker.positions().keys() == {TASK}
    process.clock.advance(600_000)
    await process.worker.turn()
    assert process.worker.positions().keys() == {TASK}


# ------------------------------------------------------------------------------------------------ changelogs made again


def renamed() -> Topology:
    """Counts in a store of another name: in its task, nobody has the changelog any more that the files know."""
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    words.group_by_key().count(store="sums").to_stream().to("totals")
    return builder.build()


@BOTH_GUARANTEES
async def test_files_of_stores_with_other_changelogs_are_wiped_and_the_stores_are_restored(
    disk: Disk, caplog: pytest.LogCaptureFixture, *, is_exactly_once: bool
) -> None:
    kafka = with_words()
    await (await counted(disk.process(kafka, is_exactly_once=is_exactly_once))).worker.close()
    kafka.counts["app-sums-changelog"] = 1
    kafka.logs[TopicPartition("app-sums-changelog", 0)] = [LogEntry(b"be", (7).to_bytes(8, "big"), 1)]
    other = disk.process(kafka, topology=renamed(), is_exactly_once=is_exactly_once)
    other.member.assign("0_0")
    await other.worker.start()
    await other.turn_until(lambda: other.worker.is_running and other.worker.tasks)
    assert f"The files of task 0_0 are of stores with other changelogs: {CHANGELOG}." in caplog.text
    assert not set(other.worker.tasks[TASK].engine.positions) & {LOGGED}
    assert kept(other, "sums") == Counter({"be": 7})


def made_again(kafka: FakeKafka, word: str) -> None:
    """Let the changelog be another topic, with as many records as the one before and one more."""
    count = len(kafka.logs.pop(LOGGED))
    kafka.ids[CHANGELOG] = UUID(int=kafka.ids.get(CHANGELOG, UUID(int=99)).int + 100)
    for number in range(count + 1):
        kafka.logs[LOGGED].append(LogEntry(f"{word}{number}".encode(), number.to_bytes(8, "big"), 0))


@BOTH_GUARANTEES
async def test_a_changelog_that_was_made_again_in_the_meantime_and_has_grown_past_the_position_is_restored(
    disk: Disk, caplog: pytest.LogCaptureFixture, is_exactly_once: bool
) -> None:
    kafka = with_words()
    await (await counted(disk.process(kafka, is_exactly_once=is_exactly_once))).worker.close()
    made_again(kafka, "new")
    for _ in range(2):  # the second time its id is known
        again = await counted(disk.process(kafka, is_exactly_once=is_exactly_once))
        assert kept(again) == restored(kafka)
        assert "to" not in kept(again)
        await again.worker.close()
    (told,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert told == (
        f"{CHANGELOG} was deleted and created again since task 0_0 has stored its rows. "
        "Its stores (counts) are emptied and restored from what there is."
    )


async def test_a_standby_whose_changelog_was_made_again_begins_without_its_rows(disk: Disk) -> None:
    kafka = with_words()
    await (await counted(disk.process(kafka))).worker.close()
    made_again(kafka, "new")
    standby = disk.process(kafka)
    standby.member.assign(standby=["0_0"])
    await standby.worker.start()
    await standby.turn_until(
        lambda: (task := standby.worker.tasks.get(TASK)) and task.applied.get(LOGGED) == len(kafka.logs[LOGGED])
    )
    assert kept(standby) == restored(kafka)


async def test_files_without_an_id_are_read_as_they_are_and_get_one(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = with_words()
    id_ = kafka.ids.pop(CHANGELOG)
    await (await counted(disk.process(kafka))).worker.close()
    kafka.ids[CHANGELOG] = id_
    second = await counted(disk.process(kafka))
    assert second.worker.sensors.restored.total == 0
    assert kept(second) == Counter(WORDS)
    await second.worker.close()
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
    made_again(kafka, "new")
    assert kept(await counted(disk.process(kafka))) == restored(kafka)


async def test_a_store_that_outlived_its_changelog_keeps_its_rows(disk: Disk) -> None:
    kafka = with_words()
    first = await counted(disk.process(kafka))
    kafka.logs[LOGGED].clear()
    kafka.ids[CHANGELOG] = UUID(int=200)
    first.plane.replaced.add(LOGGED)
    kafka.produce("words", "be", "")
    await first.turn_until(lambda: first.has_committed(len(WORDS) + 1) and not first.plane.replaced)
    await first.worker.close()
    again = await counted(disk.process(kafka))
    assert kept(again) == Counter((*WORDS, "be")) != restored(kafka)
    await again.worker.close()
    made_again(kafka, "newer")
    assert kept(await counted(disk.process(kafka))) == restored(kafka)


# --------------------------------------------------------------------------------------------------------- other owners


async def test_a_task_whose_files_somebody_has_open_waits_and_the_others_begin(disk: Disk) -> None:
    kafka = with_words(2)
    await (await counted(disk.process(kafka))).worker.close()
    owned, own = ["0_0"], Generation.own
    process = disk.process(kafka)
    process.member.assign("0_0", "0_1")
    with patch.object(Generation, "own", lambda each: not any(task in str(each) for task in owned) and own(each)):
        await process.worker.start()
        await process.turn_until(lambda: process.has_committed(len(WORDS), SECOND))
        assert set(process.worker.tasks) == {OTHER}
        assert not process.worker.is_running
        assert "task 0_0 waits until its stores can be opened" in process.worker._obstacles()
        owned.clear()
        await process.turn_until(lambda: process.worker.is_running)
    assert set(process.worker.tasks) == {TASK, OTHER}
    assert kept(process) == Counter(WORDS)


async def test_a_task_that_waits_for_its_files_may_be_revoked(disk: Disk) -> None:
    kafka = with_words()
    await (await counted(disk.process(kafka))).worker.close()
    process = disk.process(kafka)
    process.member.assign("0_0")
    with patch.object(Generation, "own", lambda _: False):
        await process.worker.start()
        await process.worker.turn()
        event = process.member.revoke("0_0")
        await process.turn_until(lambda: process.member.confirmed)
    assert process.member.confirmed == [event]
    await process.worker.turn()
    assert not process.worker.tasks, "nobody opens it now that it can be opened"
