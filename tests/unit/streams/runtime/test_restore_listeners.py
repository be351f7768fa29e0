"""What listeners of restoration are told, over brokers in memory."""

import pytest

from kafka_groups.streams import StandbyUpdateListener, StateRestoreListener, SuspendReason, TaskId
from kafka_groups.streams.runtime import restoration
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.types import TopicPartition
from tests.support.fake_kafka import FakeKafka, LogEntry
from tests.unit.streams.runtime.counting import CHANGELOG, Process, brokers, enriched

TASK = TaskId("0", 0)
LOGGED = TopicPartition(CHANGELOG, 0)
NAMES = TopicPartition("names", 0)


@pytest.fixture(autouse=True)
def small_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOADED_RECORDS", "LOADED_BESIDE"):
        monkeypatch.setattr(restoration, name, 2)


class Noting(StateRestoreListener):
    """Notes what it is told, and may raise an error."""

    def __init__(self, failing: str = "") -> None:
        self.told: list[tuple[object, ...]] = []
        self._failing = failing

    def note(self, name: str, *values: object) -> None:
        self.told.append((name, *values))
        if name == self._failing:
            raise RuntimeError(f"{name} does not work")

    def on_restore_start(self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int) -> None:
        self.note("start", partition, store, starting_offset, ending_offset)

    def on_batch_restored(self, partition: TopicPartition, store: str, batch_end_offset: int, restored: int) -> None:
        self.note("batch", partition, store, batch_end_offset, restored)

    def on_restore_end(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        self.note("end", partition, store, total_restored)

    def on_restore_suspended(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        self.note("suspended", partition, store, total_restored)


class Following(StandbyUpdateListener):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def on_update_start(self, partition: TopicPartition, store: str, starting_offset: int) -> None:
        self.told.append(("start", partition, store, starting_offset))

    def on_batch_loaded(
        self,
        partition: TopicPartition,
        store: str,
        task_id: TaskId,
        batch_end_offset: int,
        batch_size: int,
        current_end_offset: int,
    ) -> None:
        self.told.append(("batch", partition, store, task_id, batch_end_offset, batch_size, current_end_offset))

    def on_update_suspended(
        self, partition: TopicPartition, store: str, store_offset: int, current_end_offset: int, reason: SuspendReason
    ) -> None:
        self.told.append(("suspended", partition, store, store_offset, current_end_offset, reason))


async def told_process(count: int, listeners: RestoreListeners, *, active: bool = True) -> Process:
    """A worker that gets two changelog records in each turn."""
    process = Process(brokers(), listeners=listeners)
    log_counts(process.kafka, count)
    process.member.assign(*(["0_0"] if active else []), standby=[] if active else ["0_0"])
    poll = process.plane.poll_restoring

    async def two(most: int) -> object:
        return await poll(2)

    process.plane.poll_restoring = two  # type: ignore[method-assign, assignment]
    await process.worker.start()
    return process


def log_counts(kafka: FakeKafka, count: int) -> None:
    kafka.logs[LOGGED].extend(LogEntry(b"%d" % at, at.to_bytes(8, "big"), at) for at in range(count))


async def test_a_listener_follows_the_restoration_of_a_store() -> None:
    listener = Noting()
    process = await told_process(3, RestoreListeners(restore=listener))
    await process.turn_until(lambda: TASK in process.worker.tasks and process.worker.is_running)
    assert listener.told == [
        ("start", LOGGED, "counts", 0, 3),
        ("batch", LOGGED, "counts", 1, 2),
        ("batch", LOGGED, "counts", 2, 1),
        ("end", LOGGED, "counts", 3),
    ]
    process.member.revoke("0_0")
    await process.turn_until(lambda: process.member.confirmed)
    assert len(listener.told) == 4, "a task that was restored is not suspended"


async def test_the_restoration_of_an_empty_changelog_begins_and_ends() -> None:
    listener = Noting()
    process = await told_process(0, RestoreListeners(restore=listener))
    await process.turn_until(lambda: TASK in process.worker.tasks and process.worker.is_running)
    assert listener.told == [("start", LOGGED, "counts", 0, 0), ("end", LOGGED, "counts", 0)]


@pytest.mark.parametrize("how", ["revoke", "lose", "close"])
async def test_a_restoration_that_is_interrupted_is_suspended(how: str) -> None:
    listener = Noting()
    process = await told_process(100, RestoreListeners(restore=listener))
    await process.turn_until(lambda: ("batch", LOGGED, "counts", 3, 2) in listener.told)
    if how == "close":
        await process.worker.close()
    else:
        getattr(process.member, how)("0_0")
        await process.turn_until(lambda: process.member.confirmed)
    restored = sum(int(str(each[-1])) for each in listener.told if each[0] == "batch")
    assert listener.told[-1] == ("suspended", LOGGED, "counts", restored)
    assert [each[0] for each in listener.told].count("suspended") == 1


@pytest.mark.parametrize("call", ["start", "batch", "end"])
async def test_a_listener_that_fails_ends_the_worker(call: str) -> None:
    process = await told_process(3, RestoreListeners(restore=Noting(failing=call)))
    with pytest.raises(RuntimeError, match=f"{call} does not work"):
        await process.turn_until(lambda: TASK in process.worker.tasks and process.worker.is_running)


async def test_a_listener_follows_a_standby_task_until_it_is_promoted() -> None:
    restore, standby = Noting(), Following()
    process = await told_process(3, RestoreListeners(restore=restore, standby=standby), active=False)
    await process.turn_until(lambda: len(standby.told) == 3)
    process.member.promote("0_0")
    await process.turn_until(lambda: process.member.confirmed and process.worker.is_running)
    assert standby.told == [
        ("start", LOGGED, "counts", 0),
        ("batch", LOGGED, "counts", TASK, 1, 2, 3),
        ("batch", LOGGED, "counts", TASK, 2, 1, 3),
        ("suspended", LOGGED, "counts", 2, 3, SuspendReason.PROMOTED),
    ]
    assert restore.told == [("start", LOGGED, "counts", 3, 3), ("end", LOGGED, "counts", 0)]


async def test_a_standby_task_that_becomes_a_warm_up_task_goes_on_and_one_that_leaves_is_suspended() -> None:
    standby = Following()
    process = await told_process(2, RestoreListeners(standby=standby), active=False)
    await process.turn_until(lambda: len(standby.told) == 2)
    process.member.change_role("0_0", "standby", "warmup")
    await process.turn_until(lambda: process.member.confirmed)
    log_counts(process.kafka, 1)
    await process.turn_until(lambda: len(standby.told) == 3)
    process.member.change_role("0_0", "warmup", "standby")
    await process.worker.close()
    assert standby.told[2:] == [
        ("batch", LOGGED, "counts", TASK, 2, 1, 3),
        ("suspended", LOGGED, "counts", 2, 3, SuspendReason.MIGRATED),
    ]


async def test_a_listener_follows_global_stores() -> None:
    listener = Noting()
    kafka = FakeKafka({"names": 2, "orders": 1, "named": 1})
    kafka.produce("names", "a", "ann")
    process = Process(kafka, topology=enriched(), listeners=RestoreListeners(restore=listener))
    await process.worker.start()
    process.member.is_spare = True
    await process.turn_until(lambda: process.worker.is_running)
    store = str(listener.told[0][2])
    other = TopicPartition("names", 1)
    assert listener.told == [
        ("start", NAMES, store, 0, 1),
        ("start", other, store, 0, 0),
        ("end", other, store, 0),
        ("batch", NAMES, store, 0, 1),
        ("end", NAMES, store, 1),
    ]
    kafka.produce("names", "b", "ben")
    await process.turn_until(lambda: process.plane.changelogs.positions[NAMES] == 2)
    assert len(listener.told) == 5, "what comes later is not restored"
