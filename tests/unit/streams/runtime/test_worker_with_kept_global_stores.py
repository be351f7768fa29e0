"""Workers whose global stores are on disk: restarts read only what is new, and their files fail in every way."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import lmdb
import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology, stores
from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.left_folders import condemn_left_open
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DiskEngine
from kafka_groups.streams.errors import StateDiskError
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners, StateRestoreListener
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.fake_kafka import FakeKafka, Faults, Killed
from tests.unit.streams.runtime.counting import Process, enriched

NAMES = {"b": "ben", "c": "cid", "d": "dan"}
TOPIC, SECOND = TopicPartition("names", 0), TopicPartition("names", 1)
ORDERS = TopicPartition("orders", 0)


class Disk:
    """The folder of the application, and the engines that this test has open in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.open: list[DiskEngine] = []

    def process(
        self,
        kafka: FakeKafka,
        faults: Faults | None = None,
        topology: Topology | None = None,
        number: int = 1,
        **settings: Any,
    ) -> Process:
        engines = DiskEngines(self.folder, "boot 1", self.clock, number=number)
        return Process(kafka, faults, topology=topology or enriched(), engines=engines, **settings)

    def files(self) -> list[str]:
        return sorted(str(each.relative_to(self.folder)) for each in self.folder.glob("global/*/*"))

    def kill(self) -> None:
        """End whoever has files open, as the system does it with a process that is killed."""
        for engine in self.open:
            if engine.is_open:
                LmdbEngine.close(engine)
                engine._generation.disown()
        self.open.clear()


class Heard(StateRestoreListener):
    """Notes what it hears about one store."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_restore_start(self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int) -> None:
        self.calls.append(f"start {starting_offset}-{ending_offset}")

    def on_restore_end(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        self.calls.append(f"end {total_restored}")

    def on_restore_suspended(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        self.calls.append("suspended")


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


def with_names(partitions: int = 1) -> FakeKafka:
    kafka = FakeKafka({"names": partitions, "orders": 1, "named": 1})
    for place in range(partitions):
        for at, (key, name) in enumerate(NAMES.items()):
            kafka.produce("names", f"{key}{place or ''}", name, timestamp_ms=at, partition=place)
    return kafka


async def loaded(process: Process) -> Process:
    """Let a process without tasks load its global stores."""
    process.member.is_spare = True
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    return process


def rows(process: Process, store: str | None = None) -> dict[str, str]:
    (engine,) = process.worker.engines(store or next(iter(process.worker.stores)))
    table = engine.table(store or next(iter(process.worker.stores)))
    return {key.decode(): value[8:].decode() for key, value in table.scan(b"", None)}


def starts_of(process: Process) -> list[dict[TopicPartition, int]]:
    """Where changelogs and global topics are read from."""
    starts: list[dict[TopicPartition, int]] = []
    assign = process.plane.assign_restoring

    async def noted(given: dict[TopicPartition, int]) -> None:
        starts.append(dict(given))
        await assign(given)

    process.plane.assign_restoring = noted  # type: ignore[method-assign, assignment]
    return starts


# ------------------------------------------------------------------------------------------------------------- restarts


async def test_a_restart_reads_only_what_is_new(disk: Disk) -> None:
    kafka = with_names(2)
    await (await loaded(disk.process(kafka))).worker.close()
    kafka.produce("names", "e", "eve")
    second = disk.process(kafka)
    starts = starts_of(second)
    await loaded(second)
    assert starts == [{TOPIC: 3, SECOND: 3}]
    assert second.worker.sensors.restored.total == 1
    assert rows(second) == {**NAMES, **{f"{key}1": name for key, name in NAMES.items()}, "e": "eve"}
    await second.worker.close()
    third = await loaded(disk.process(kafka))
    assert third.worker.sensors.restored.total == 0
    assert disk.files() == ["global/1/1"]


async def test_a_topic_that_was_made_again_in_the_meantime_and_has_grown_past_the_position_fills_them_anew(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = with_names()
    await (await loaded(disk.process(kafka))).worker.close()
    kafka.logs.clear()
    kafka.ids["names"] = UUID(int=100)
    new = {f"new{number}": "name" for number in range(len(NAMES) + 1)}
    for key, name in new.items():
        kafka.produce("names", key, name)
    for _ in range(2):  # the second time its id is known
        again = await loaded(disk.process(kafka))
        assert rows(again) == new
        await again.worker.close()
    (told,) = [each for each in caplog.messages if "emptied" in each]
    assert told.startswith(
        f"{TOPIC}: the records after those that the global stores have were deleted, or the topic was"
    )


async def test_files_without_an_id_are_read_as_they_are_and_get_one(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = with_names()
    id_ = kafka.ids.pop("names")
    await (await loaded(disk.process(kafka))).worker.close()
    kafka.ids["names"] = id_
    kafka.produce("names", "e", "eve")
    second = await loaded(disk.process(kafka))
    assert second.worker.sensors.restored.total == 1
    await second.worker.close()
    assert "emptied" not in caplog.text
    kafka.ids["names"] = UUID(int=100)
    third = await loaded(disk.process(kafka))
    assert third.worker.sensors.restored.total == len(NAMES) + 1


async def test_tasks_read_what_a_restart_has_found(disk: Disk) -> None:
    kafka = with_names()
    await (await loaded(disk.process(kafka))).worker.close()
    kafka.produce("orders", "b", "tea")
    second = disk.process(kafka)
    second.member.assign("1_0")
    await second.worker.start()
    await second.turn_until(lambda: second.has_committed(1, ORDERS))
    assert [entry.value for entry in kafka.values("named")] == [b"tea of ben"]


async def test_whenever_a_process_is_killed_the_next_one_has_all_rows(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    kills, folder = 0, disk.folder
    for at in range(1, 100):
        disk.folder = folder / f"killed at {at}"
        kafka, faults = with_names(2), Faults(at)
        first = disk.process(kafka, faults)
        try:
            await loaded(first)
            kafka.produce("names", "e", "eve")
            await first.turn_until(lambda process=first: "e" in rows(process))  # type: ignore[misc]
        except Killed:
            kills += 1
        disk.kill()
        kafka.produce("names", "f", "fay")
        again = await loaded(disk.process(kafka))
        assert rows(again)["f"] == "fay"
        assert rows(again).keys() >= {"b", "c", "d", "b1", "c1", "d1"}, f"killed at call {at}"
        disk.kill()
        if faults.calls < at:
            break
    assert kills > 5
    assert "emptied" not in caplog.text
    assert "deleted" not in caplog.text


async def test_a_batch_is_one_transaction_with_its_position(disk: Disk) -> None:
    kafka, commits = with_names(), []
    write = LmdbEngine._write

    def written(engine: LmdbEngine, changes: Any, positions: Any, notes: Any) -> None:
        commits.append(({name: len(each) for name, each in changes.items()}, dict(positions)))
        write(engine, changes, positions, notes)

    with patch.object(LmdbEngine, "_write", written):
        process = await loaded(disk.process(kafka))
    (store,) = process.worker.stores
    assert commits == [({store: 3}, {TOPIC: 3})]


async def test_each_worker_of_a_process_has_global_stores_of_its_own(disk: Disk) -> None:
    kafka = with_names()
    processes = [await loaded(disk.process(kafka, number=number)) for number in (1, 2)]
    assert [rows(each) for each in processes] == [NAMES, NAMES]
    assert disk.files() == ["global/1/1", "global/2/1"]


def two_tables(second_topic: str = "cities", *, is_kept: bool = True) -> Topology:
    builder = StreamsBuilder()
    for topic, name, persistent in (("names", "a", True), (second_topic, "b", is_kept)):
        store = stores.key_value(name, serdes.string, serdes.string, persistent=persistent)
        builder.global_table(topic, key=serdes.string, value=serdes.string, store=store)
    builder.stream("orders", key=serdes.string, value=serdes.string).to("named")
    return builder.build()


def with_cities() -> FakeKafka:
    kafka = with_names()
    kafka.counts.update({"cities": 1, "towns": 1})
    kafka.produce("cities", "x", "Xi'an")
    kafka.produce("towns", "y", "York")
    return kafka


async def test_all_global_stores_are_in_one_environment(disk: Disk) -> None:
    process = await loaded(disk.process(with_cities(), topology=two_tables()))
    assert (rows(process, "a"), rows(process, "b")) == (NAMES, {"x": "Xi'an"})
    assert disk.files() == ["global/1/1"]
    (engine,) = disk.open
    assert engine.positions == {TOPIC: 3, TopicPartition("cities", 0): 1}


async def test_a_store_in_memory_is_filled_from_the_beginning_even_if_it_was_on_disk_before(disk: Disk) -> None:
    kafka = with_cities()
    await (await loaded(disk.process(kafka, topology=two_tables()))).worker.close()
    for _ in range(2):
        again = disk.process(kafka, topology=two_tables(is_kept=False))
        starts = starts_of(again)
        await loaded(again)
        assert starts == [{TOPIC: 3, TopicPartition("cities", 0): 0}]
        assert (rows(again, "a"), rows(again, "b")) == (NAMES, {"x": "Xi'an"})
        await again.worker.close()


async def test_a_store_that_another_topic_fills_begins_anew(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    kafka = with_cities()
    await (await loaded(disk.process(kafka, topology=two_tables()))).worker.close()
    again = await loaded(disk.process(kafka, topology=two_tables("towns")))
    assert (rows(again, "a"), rows(again, "b")) == (NAMES, {"y": "York"})
    assert "The store files of the global stores of worker 1 in " in caplog.text
    assert "store 'b' was a store of another kind: " in caplog.text
    assert "The stores (a, b) are filled from the beginning of their topics." in caplog.text


# ----------------------------------------------------------------------------------------------------- topics that lose


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_a_topic_that_has_lost_what_comes_next_empties_the_stores(
    disk: Disk, caplog: pytest.LogCaptureFixture, is_made_anew: bool
) -> None:
    kafka = with_names()
    await (await loaded(disk.process(kafka))).worker.close()
    if is_made_anew:
        kafka.logs[TOPIC].clear()
        kafka.produce("names", "f", "fay")
    else:
        for key in ("e", "f", "g"):
            kafka.produce("names", key, key * 3)
        kafka.begins[TOPIC] = 4
    again = await loaded(disk.process(kafka))
    assert rows(again) == ({"f": "fay"} if is_made_anew else {"f": "fff", "g": "ggg"})
    assert "names-0: the records after those that the global stores have were deleted" in caplog.text
    await again.worker.close()
    third = await loaded(disk.process(kafka))
    assert third.worker.sensors.restored.total == 0


# ------------------------------------------------------------------------------------------------------------ the files


async def test_a_worker_waits_for_files_that_another_process_has_open(disk: Disk) -> None:
    kafka = with_names()
    first = await loaded(disk.process(kafka))
    second = disk.process(kafka)
    second.member.is_spare = True
    await second.worker.start()
    await second.worker.turn()
    assert not second.worker.is_running
    assert "global stores wait until their files can be opened" in second.worker._obstacles()
    await first.worker.close()
    await second.turn_until(lambda: second.worker.is_running)
    assert second.worker.sensors.restored.total == 0
    assert rows(second) == NAMES


async def test_a_worker_that_waits_for_files_can_be_closed(disk: Disk) -> None:
    kafka = with_names()
    first = await loaded(disk.process(kafka))
    second = disk.process(kafka)
    await second.worker.start()
    disk.clock.advance(1_000)
    await second.worker.turn()
    assert len(disk.files()) == 2, "it copies them"
    await second.worker.close()
    wait_until(lambda: disk.files() == ["global/1/1"])
    await first.worker.close()


async def test_files_that_cannot_be_opened_are_tried_again(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    process = disk.process(with_names())
    process.member.is_spare = True
    with patch.object(lmdb, "open", side_effect=lmdb.DiskError("No space left on device")):
        await process.worker.start()
        await process.worker.turn()
        assert "Global stores cannot be opened yet: " in caplog.text
        assert any("No space left on device" in each for each in process.worker._obstacles())
    await process.turn_until(lambda: process.worker.is_running)
    assert rows(process) == NAMES


async def test_a_full_disk_ends_no_worker_and_what_is_new_is_written_when_there_is_room(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = with_names()
    process = disk.process(kafka)
    process.member.assign("1_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    with patch.object(LmdbEngine, "_write", side_effect=lmdb.DiskError("No space left on device")):
        kafka.produce("names", "e", "eve")
        kafka.produce("names", "f", "fay")
        await process.turn_until(lambda: "What is new in global stores is not on disk yet" in caplog.text)
        kafka.produce("orders", "e", "tea")
        await process.turn_until(lambda: process.has_committed(1, ORDERS))
        assert rows(process) == NAMES
    assert [entry.value for entry in kafka.values("named")] == [b"tea of eve"], "tasks see what is not on disk yet"
    assert "bytes are free there" in caplog.text
    await process.turn_until(lambda: "f" in rows(process))
    (engine,) = process.worker.engines(next(iter(process.worker.stores)))
    assert engine.positions == {TOPIC: 5}


@contextmanager
def damaged_once(method: str) -> Iterator[None]:
    """Let a method of engines find damage when it is called for the first time."""
    call = getattr(LmdbEngine, method)
    found: list[LmdbEngine] = []

    def finds(engine: LmdbEngine, *args: Any) -> Any:
        if not found:
            found.append(engine)
            raise engine._error(lmdb.CorruptedError("page 7"))
        return call(engine, *args)

    with patch.object(LmdbEngine, method, finds):
        yield
    assert found, f"{method} was not called"


@pytest.mark.parametrize("is_exactly_once", [False, True])
@pytest.mark.parametrize("is_write", [False, True])
async def test_damage_empties_the_stores_and_all_tasks_begin_again_when_they_are_filled(
    disk: Disk, caplog: pytest.LogCaptureFixture, is_write: bool, is_exactly_once: bool
) -> None:
    kafka = with_names()
    process = disk.process(kafka, is_exactly_once=is_exactly_once)
    process.member.assign("1_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    with damaged_once("_write" if is_write else "get"):
        kafka.produce("names", "e", "eve")
        kafka.produce("orders", "b", "tea")
        await process.turn_until(lambda: process.worker.is_running and process.has_committed(1, ORDERS))
    kafka.produce("orders", "e", "milk")
    await process.turn_until(lambda: process.has_committed(2, ORDERS))
    assert [entry.value for entry in kafka.values("named")] == [b"tea of ben", b"milk of eve"]
    assert rows(process) == {**NAMES, "e": "eve"}
    (warning,) = [each for each in caplog.messages if "page 7" in each and "global stores" in each]
    assert warning.endswith("The global stores are emptied and filled again from their topics.")
    (engine,) = process.worker.engines(next(iter(process.worker.stores)))
    assert engine.positions == {TOPIC: 4}
    assert not engine.is_damaged
    await process.worker.close()
    assert (await loaded(disk.process(kafka))).worker.sensors.restored.total == 0


async def test_damage_while_the_stores_are_filled_begins_that_again(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Heard()
    process = disk.process(with_names(), listeners=RestoreListeners(restore=listener))
    with damaged_once("_write"):
        await loaded(process)
    assert rows(process) == NAMES
    assert listener.calls == ["start 0-3", "suspended", "start 0-3", "end 3"]
    assert caplog.text.count("The global stores are emptied and filled again from their topics.") == 1


async def test_tasks_that_wait_for_other_stores_are_given_up_when_the_group_takes_them(disk: Disk) -> None:
    process = disk.process(with_names())
    process.member.assign("1_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    with (
        damaged_once("_write"),
        patch.object(DiskEngines, "wipe_global", side_effect=StateDiskError("No space left on device")),
    ):
        process.kafka.produce("names", "e", "eve")
        await process.turn_until(lambda: not process.worker.tasks)
        process.member.revoke("1_0")
        await process.turn_until(lambda: process.member.confirmed)
    process.member.is_spare = True
    await process.turn_until(lambda: process.worker.is_running)
    assert rows(process) == {**NAMES, "e": "eve"}
    assert not process.worker.tasks


async def test_files_of_a_process_that_died_of_them_are_not_opened_again(disk: Disk) -> None:
    kafka = with_names()
    await loaded(disk.process(kafka))
    disk.kill()
    condemn_left_open(disk.folder)
    again = await loaded(disk.process(kafka))
    assert again.worker.sensors.restored.total == 3
    assert rows(again) == NAMES
