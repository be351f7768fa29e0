"""A changelog that ends before what a worker had of it was deleted or truncated, and stores have lost rows."""

import logging
from collections.abc import Callable

import pytest

from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import DeliveryFailedError
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.engine_plane import EnginePlane, EnginePlaneConfig
from kafka_groups.streams.runtime.assigned import TaskRole
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.cluster_client import Topic
from tests.support.fake_kafka import FakeKafka, FakePlane
from tests.unit.records.clusters import KEPT, RecordsWorld
from tests.unit.streams.runtime.counting import CHANGELOG, INPUT, OUTPUT, Process, brokers
from tests.unit.streams.runtime.test_worker import LOGGED, TASK, counted, with_words

LOST = (
    f"Changelog {CHANGELOG}-0 had the records before offset 4, and now it has those from 0 to {{}}: it was deleted or "
    "truncated while the application ran. Task 0_0 has lost the rows of store 'counts' that are not among them."
)


async def given_again(process: Process) -> None:
    process.member.assign("0_0")
    await process.turn_until(lambda: process.worker.is_running and TASK in process.worker.tasks)


async def taken_away() -> tuple[FakeKafka, Process]:
    """Return a worker that has counted four words, and from which the group has taken the task."""
    kafka = with_words()
    process = await counted(kafka)
    assert len(kafka.logs[LOGGED]) == 4
    process.member.revoke("0_0")
    await process.turn_until(lambda: not process.worker.tasks)
    return kafka, process


@pytest.mark.parametrize("left", [0, 2])
async def test_a_task_that_comes_back_warns_once_about_rows_that_its_changelog_has_lost(
    left: int, caplog: pytest.LogCaptureFixture
) -> None:
    kafka, process = await taken_away()
    del kafka.logs[LOGGED][left:]
    await given_again(process)
    (told,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert LOST.format(left) in told.getMessage()
    assert "with another application_id" in told.getMessage()
    process.member.revoke("0_0")
    await process.turn_until(lambda: not process.worker.tasks)
    await given_again(process)
    assert caplog.text.count("had the records before offset") == 1


async def test_a_task_that_comes_back_to_its_whole_changelog_warns_of_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, process = await taken_away()
    await given_again(process)
    assert process.worker.tasks[TASK].role is TaskRole.ACTIVE
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def test_a_task_does_not_take_the_end_of_a_deleted_changelog_for_that_of_the_new_one() -> None:
    kafka, process = await taken_away()
    kafka.logs[LOGGED].clear()
    await given_again(process)
    task = process.worker.tasks[TASK]
    task.is_dirty = True  # as after records that change no store
    await process.turn_until(lambda: not task.is_dirty)
    assert task.applied[LOGGED] == 0, "or a store that is kept would miss the first four records of other workers"
    kafka.produce("words", "new", "")
    await process.turn_until(lambda: task.applied[LOGGED] == len(kafka.logs[LOGGED]) > 0)


async def test_a_changelog_that_is_made_again_under_a_running_task_is_told_with_the_first_commit_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kafka = with_words()
    process = await counted(kafka)
    assert isinstance(process.plane, FakePlane)
    kafka.logs[LOGGED].clear()
    process.plane.replaced.add(LOGGED)
    for word in ("new", "other"):
        kafka.produce("words", word, "")
        await process.turn_until(lambda: not process.plane.queued and kafka.logs[LOGGED])
    await process.turn_until(lambda: process.worker.tasks[TASK].applied[LOGGED] == len(kafka.logs[LOGGED]) == 2)
    (told,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert told.startswith(f"Changelog {CHANGELOG}-0 was deleted and made again while the application ran.")
    assert "those rows of store 'counts' that changed since then. Task 0_0 still has the others" in told
    assert "with another application_id" in told


async def test_a_changelog_that_is_made_again_right_before_tasks_begin_again_is_told_and_read_from_its_begin(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = with_words()
    process = await counted(kafka)
    plane, kept = process.plane, process.worker.tasks[TASK].engine
    flush, is_failing = plane.flush, True

    async def failing(timeout_ms: int) -> None:
        nonlocal is_failing
        await flush(timeout_ms)
        if is_failing:
            is_failing = False
            raise DeliveryFailedError("another record was not written", failed=1, unanswered=0, retriable=True)

    monkeypatch.setattr(plane, "flush", failing)
    kafka.logs[LOGGED].clear()
    plane.replaced.add(LOGGED)
    for number in range(6):  # so that the new changelog is longer than what the store had of the old one
        kafka.produce("words", f"new {number}", "")
    await process.turn_until(lambda: not is_failing)
    first = len(kafka.logs[LOGGED])
    assert first > 4
    task = process.worker.tasks[TASK]
    assert task.engine is kept
    assert LOGGED not in task.applied
    loaded: list[int] = []
    monkeypatch.setattr(task.task, "apply", lambda _place, records, _reached: loaded.append(len(records)))
    await process.turn_until(lambda: task.is_running)
    assert sum(loaded) == first, "it has rows that the store lacks, also before where the old one ended"
    (told,) = [each.getMessage() for each in caplog.records if each.getMessage().startswith("Changelog")]
    assert told.startswith(f"Changelog {CHANGELOG}-0 was deleted and made again while the application ran.")


# ------------------------------------------------------------------------------ on our own engine, made again


class StandbyOnEngine:
    """A standby task that follows its changelog with our own engine, on the embedded cluster in virtual time."""

    def __init__(self, world: RecordsWorld) -> None:
        self.world = world
        for topic in (INPUT.topic, OUTPUT):
            world.cluster.create_topic(topic)
        config = EnginePlaneConfig(
            connection=admin_config(bootstrap_servers=world.cluster.bootstrap_servers),
            sources=ReaderConfig(),
            restorer=ReaderConfig(),
            producer=ProducerConfig(),
        )
        self.plane = EnginePlane(
            config, world.environment(), lambda: dict.fromkeys((INPUT.topic, OUTPUT, CHANGELOG), 1)
        )
        self.process = Process(brokers(), plane=self.plane)

    def make_changelog(self) -> None:
        created = self.world.cluster.create_topic(CHANGELOG, 1, configs=KEPT)
        self.world.topic = Topic(CHANGELOG, created.topic_id)

    async def change(self, **counts: int) -> None:
        await self.world.produce([
            NewRecord(count.to_bytes(8, "big"), each.encode()) for each, count in counts.items()
        ])  # fmt: skip

    async def turn_until(self, done: Callable[[], bool]) -> None:
        for _ in range(200):
            if done():
                return
            self.process.clock.advance(1_000)
            await self.process.worker.turn()
            await self.plane.wait(100)
        raise AssertionError(f"{self.rows} after 200 turns")

    @property
    def rows(self) -> dict[str, int]:
        """The rows of the store."""
        task = self.process.worker.tasks.get(TASK)
        found = () if task is None else task.engine.table("counts").scan(b"", None)
        return {key.decode(): int.from_bytes(value, "big") for key, value in found}


@pytest.mark.parametrize("more", [1, 4])
def test_a_standby_whose_changelog_was_made_again_is_wiped_and_has_the_rows_of_the_new_one_alone(
    more: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world:
            standby = StandbyOnEngine(world)
            standby.make_changelog()
            await standby.change(a=1, b=2)
            standby.process.member.assign(standby=["0_0"])
            await standby.process.worker.start()
            await standby.turn_until(lambda: standby.rows == {"a": 1, "b": 2})
            world.cluster.delete_topic(CHANGELOG)
            standby.make_changelog()
            # A log that is longer has the next offset, so that no broker says that it is out of range.
            new = {f"new {number}": number for number in range(more)}
            await standby.change(**new)
            await standby.turn_until(lambda: standby.rows == new)
            assert standby.process.worker.tasks[TASK].applied[LOGGED] == more
            await standby.process.worker.close()
            await standby.plane.close()

    run_simulated(scene, seed=1)
    assert f"The topic of {CHANGELOG}-0 was deleted and made again: offset 2" in caplog.text
    assert "changelogs of task 0_0 do not have the next records" in caplog.text
