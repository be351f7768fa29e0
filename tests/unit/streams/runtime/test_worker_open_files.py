"""The files of a worker's tasks, as its parent is told of them, and the status that is written next to them."""

from pathlib import Path
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, stores
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.questions import token_of
from kafka_groups.streams.engines.status_file import StatusReader, StatusWriter
from kafka_groups.streams.runtime.assigned import TaskRole
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import Process, brokers

TASK = TaskId("0", 0)


def with_words(partitions: int = 1) -> FakeKafka:
    kafka = brokers(partitions)
    for partition in range(partitions):
        for word in ("to", "be"):
            kafka.produce("words", word, "", partition=partition)
    return kafka


def process_of(kafka: FakeKafka, folder: Path) -> Process:
    return Process(kafka, engines=DiskEngines(folder, "boot 1", ManualClock()))


async def running(process: Process, *tasks: str) -> Process:
    process.member.assign(*tasks)
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running and process.has_committed(2))
    return process


def status_in(folder: Path) -> EngineStatus:
    reader = StatusReader(folder.parent)
    try:
        return reader.read()[1]
    finally:
        reader.close()


async def test_each_task_with_a_store_on_disk_is_told(tmp_path: Path) -> None:
    process = await running(process_of(with_words(2), tmp_path), "0_0", "0_1")
    first, second = process.worker.open_files()
    assert (first.task_id, second.task_id) == (TASK, TaskId("0", 1))
    assert first.stores == second.stores == {"counts"}
    assert (first.partitions, first.generation) == (2, 1)
    assert first.folder == tmp_path / "tasks" / "0_0" / "1" / "lmdb"
    assert first.token != second.token
    assert [answer.token for answer in (first, second)] == [each.token for each in process.worker.open_files()]
    await process.worker.close()
    assert process.worker.open_files() == ()


def before(process: Process) -> object:
    return process.worker.global_engine


async def test_global_stores_on_disk_are_told_for_each_of_their_tasks(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    for topic, persistent in (("names", True), ("cities", True), ("towns", False)):
        store = stores.key_value(f"of-{topic}", serdes.string, serdes.string, persistent=persistent)
        builder.global_table(topic, key=serdes.string, value=serdes.string, store=store)
    builder.stream("orders", key=serdes.string, value=serdes.string).to("named")
    kafka = FakeKafka({"names": 2, "cities": 1, "towns": 1, "orders": 1, "named": 1})
    engines = DiskEngines(tmp_path, "boot 1", ManualClock(), number=3)
    process = Process(kafka, topology=builder.build(), engines=engines)
    assert not process.worker.open_files()
    assert before(process) is None
    process.member.is_spare = True
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    told = process.worker.open_files()
    assert [sorted(each.stores) for each in told] == [["of-names"], ["of-cities"], []]
    assert {(each.folder, each.partitions) for each in told} == {(tmp_path / "global" / "3" / "1" / "lmdb", 0)}
    assert {each.token for each in told} == {token_of(process.worker.engines("of-names")[0])}
    assert status_in(told[0].folder) is EngineStatus.ACTIVE
    assert process.worker.global_engine is process.worker.engines("of-names")[0]
    await process.worker.close()


async def test_stores_in_memory_are_not_told() -> None:
    assert (await running(Process(with_words()), "0_0")).worker.open_files() == ()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[EngineStatus]:
    """The statuses that are written, one after the other."""
    found: list[EngineStatus] = []
    write = StatusWriter.write

    def noted(writer: StatusWriter, status: EngineStatus) -> None:
        write(writer, status)
        found.append(status)

    monkeypatch.setattr(StatusWriter, "write", noted)
    return found


async def test_the_status_says_when_a_task_is_active(tmp_path: Path, written: list[EngineStatus]) -> None:
    process = await running(process_of(with_words(), tmp_path), "0_0")
    (files,) = process.worker.open_files()
    assert status_in(files.folder) is EngineStatus.ACTIVE
    await process.worker.close()
    assert status_in(files.folder) is EngineStatus.CLOSED
    assert written == [EngineStatus.RESTORING, EngineStatus.RESTORING, EngineStatus.ACTIVE, EngineStatus.CLOSED]


async def test_a_killed_owner_leaves_no_status_to_the_next_one(
    tmp_path: Path, written: list[EngineStatus], monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = with_words()
    first = await running(process_of(kafka, tmp_path), "0_0")
    engine = first.worker.tasks[TASK].engine
    (files,) = first.worker.open_files()
    engine._env.close()  # type: ignore[attr-defined]
    engine._generation.disown()  # type: ignore[attr-defined]
    assert status_in(files.folder) is EngineStatus.ACTIVE
    written.clear()
    opened, before = LmdbEngine._opened, []

    def looked(engine: LmdbEngine, map_bytes: int) -> Any:
        before.append(status_in(files.folder))
        return opened(engine, map_bytes)

    monkeypatch.setattr(LmdbEngine, "_opened", looked)
    second = await running(process_of(kafka, tmp_path), "0_0")
    (again,) = second.worker.open_files()
    assert (again.folder, again.inode) == (files.folder, files.inode)
    assert before == [EngineStatus.RESTORING]
    assert again.token != files.token
    await second.worker.close()


async def test_a_status_that_cannot_be_written_lets_the_task_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write, broken = StatusWriter.write, [EngineStatus.ACTIVE]

    def refused(writer: StatusWriter, status: EngineStatus) -> None:
        if status in broken:
            raise OSError(5, "Input/output error")
        write(writer, status)

    monkeypatch.setattr(StatusWriter, "write", refused)
    process = process_of(with_words(), tmp_path)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: "Input/output error" in caplog.text)
    assert not process.worker.is_running
    broken.clear()
    await process.turn_until(lambda: process.worker.is_running and process.has_committed(2))
    (files,) = process.worker.open_files()
    assert status_in(files.folder) is EngineStatus.ACTIVE
    await process.worker.close()


async def test_a_task_that_becomes_a_copy_says_so_before_the_group_hears_of_it(tmp_path: Path) -> None:
    process = await running(process_of(with_words(), tmp_path), "0_0")
    (files,) = process.worker.open_files()
    seen: list[EngineStatus] = []
    confirm = process.member.confirm

    async def looked(event: object) -> None:
        seen.append(status_in(files.folder))
        await confirm(event)  # type: ignore[arg-type]

    process.member.confirm = looked  # type: ignore[method-assign]
    process.member.change_role("0_0", "active", "standby")
    await process.turn_until(lambda: process.worker.tasks and process.worker.tasks[TASK].role is TaskRole.STANDBY)
    assert seen == [EngineStatus.STANDBY]
    assert status_in(files.folder) is EngineStatus.STANDBY
    await process.worker.close()
