"""Standby and warm-up tasks over brokers in memory: how far behind they are, and changes of their roles."""

from typing import Any

import pytest

from kafka_groups.errors import NetworkError, TopicAuthorizationFailedError
from kafka_groups.records.interface import LogChange, PolledRecords
from kafka_groups.streams import MemberTasks, TasksRevoked
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.streams.runtime.assigned import TaskRole
from kafka_groups.streams.state.engine import NO_POSITIONS, Changes, Positions
from kafka_groups.streams.tasks.stream_task import StreamTask
from kafka_groups.types import TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka, LogEntry
from tests.unit.streams.runtime.counting import CHANGELOG, Process, brokers
from tests.unit.streams.runtime.test_task_timeout import failing

TASK = TaskId("0", 0)
LOGGED = TopicPartition(CHANGELOG, 0)
KEYS = 5


def log_counts(kafka: FakeKafka, count: int) -> None:
    """Let another member write changes of the store."""
    kafka.logs[LOGGED].extend(LogEntry(b"%d" % (at % KEYS), at.to_bytes(8, "big"), at) for at in range(count))


async def following(role: str, count: int = 6, task_timeout_ms: int = 300_000) -> Process:
    """A worker with a task that has read its whole changelog."""
    process = Process(brokers(), task_timeout_ms=task_timeout_ms)
    log_counts(process.kafka, count)
    process.member.assign(**{role: ["0_0"]})
    await process.worker.start()
    await process.turn_until(lambda: TASK in process.worker.tasks and has_all(process))
    return process


def has_all(process: Process) -> bool:
    return process.worker.tasks[TASK].applied.get(LOGGED) == len(process.kafka.logs[LOGGED])


def rows(process: Process) -> int:
    return len(list(process.worker.tasks[TASK].engine.table("counts").scan(b"", None)))


def read_slowly(process: Process) -> None:
    """Let the worker get one changelog record in each turn."""
    poll = process.plane.poll_restoring

    async def one(most: int) -> object:
        return await poll(1)

    process.plane.poll_restoring = one  # type: ignore[method-assign, assignment]


def lag(process: Process) -> int | None:
    position = process.worker.positions()[TASK]
    return None if position.end_offset is None else position.end_offset - position.offset


@pytest.mark.parametrize("role", ["standby", "warmup"])
async def test_the_lag_of_a_task_follows_a_changelog_that_grows(role: str) -> None:
    process = await following(role)
    assert process.worker.positions() == {TASK: TaskPosition(6, 6)}
    read_slowly(process)
    log_counts(process.kafka, 1_000)
    await process.turn_until(lambda: (lag(process) or 0) > 900)
    log_counts(process.kafka, 1_000)
    await process.turn_until(lambda: (lag(process) or 0) > 1_900)
    assert process.worker.positions()[TASK].end_offset == 2_006


async def test_only_a_task_that_processes_is_reported_as_running() -> None:
    process = Process(brokers())
    log_counts(process.kafka, 40)
    process.member.assign("0_0")
    await process.worker.start()
    read_slowly(process)
    await process.turn_until(lambda: TASK in process.worker.positions())
    assert not process.worker.positions()[TASK].is_running  # it restores
    await process.turn_until(lambda: process.worker.is_running)
    assert process.worker.positions() == {TASK: TaskPosition(40, 40, is_running=True)}


async def test_brokers_are_not_asked_for_the_end_of_a_changelog_that_is_read_to_its_end() -> None:
    process = await following("standby")
    asked = failing(process, "bounds", NetworkError("not to be asked"), float("inf"))
    log_counts(process.kafka, 10)
    await process.turn_until(lambda: has_all(process))
    end_ms = process.clock.now_ms() + 60_000
    await process.turn_until(lambda: process.clock.now_ms() > end_ms)
    assert lag(process) == 0
    assert not asked()


async def test_the_lag_of_a_paused_standby_grows_with_its_changelog() -> None:
    process = await following("standby")
    process.worker.is_paused = True
    await process.worker.turn()
    log_counts(process.kafka, 10)
    await process.turn_until(lambda: lag(process) == 10)
    process.worker.is_paused = False
    await process.turn_until(lambda: lag(process) == 0)


async def test_ends_that_the_brokers_do_not_tell_are_asked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    process = await following("standby")
    read_slowly(process)
    log_counts(process.kafka, 100)
    failures = failing(process, "bounds", NetworkError("the brokers are away"), 3)
    await process.turn_until(lambda: (lag(process) or 0) > 50)
    assert failures() == 3
    assert "The ends of changelogs are unknown: the brokers are away" in caplog.text


async def test_ends_that_the_brokers_do_not_tell_for_long_do_not_end_the_worker() -> None:
    process = await following("standby", task_timeout_ms=10_000)
    read_slowly(process)
    log_counts(process.kafka, 1_000)
    failures = failing(process, "bounds", NetworkError("the brokers are away"), float("inf"))
    end_ms = process.clock.now_ms() + 60_000
    await process.turn_until(lambda: process.clock.now_ms() > end_ms)
    assert failures() > 5


async def test_ends_that_the_brokers_refuse_to_tell_end_the_worker() -> None:
    process = await following("standby")
    read_slowly(process)
    log_counts(process.kafka, 100)
    failing(process, "bounds", TopicAuthorizationFailedError("not yours"), float("inf"))
    with pytest.raises(TopicAuthorizationFailedError):
        await process.turn_until(lambda: has_all(process))


async def test_the_end_of_a_changelog_of_a_task_that_was_given_up_is_not_asked_for() -> None:
    process = await following("standby")
    read_slowly(process)
    log_counts(process.kafka, 1_000)
    await process.turn_until(lambda: (lag(process) or 0) > 0)
    asked = failing(process, "bounds", NetworkError("not to be asked"), float("inf"))
    process.member.change_role("0_0", "standby", "standby")
    del process.member.events[1:]
    await process.turn_until(lambda: process.member.confirmed)
    end_ms = process.clock.now_ms() + 60_000
    await process.turn_until(lambda: process.clock.now_ms() > end_ms)
    assert not asked()


@pytest.mark.parametrize(("before", "then"), [("warmup", "standby"), ("standby", "warmup"), ("warmup", "active")])
async def test_a_task_that_changes_its_role_keeps_its_stores(before: str, then: str) -> None:
    process = await following(before)
    starts: list[dict[TopicPartition, int]] = []
    assign = process.plane.assign_restoring

    async def noted(given: dict[TopicPartition, int]) -> None:
        starts.append(dict(given))
        await assign(given)

    process.plane.assign_restoring = noted  # type: ignore[method-assign, assignment]
    log_counts(process.kafka, 2)
    process.member.change_role("0_0", before, then)
    await process.turn_until(lambda: process.member.confirmed and has_all(process))
    role = {"warmup": TaskRole.WARMUP, "standby": TaskRole.STANDBY, "active": TaskRole.ACTIVE}[then]
    assert process.worker.tasks[TASK].role is role
    assert starts == [{LOGGED: 6}]
    assert rows(process) == KEYS


async def test_a_task_whose_changelog_is_shorter_than_its_stores_is_wiped_and_restored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = await following("standby")
    del process.kafka.logs[LOGGED][1:]
    process.member.promote("0_0")
    await process.turn_until(lambda: process.member.confirmed and process.worker.is_running)
    assert "The changelogs of task 0_0 do not have the next records any more" in caplog.text
    assert rows(process) == 1
    assert process.worker.tasks[TASK].applied == {LOGGED: 1}


# --------------------------------------------------------------------------------------------------------------- loads


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The rows and the position of each load."""
    found: list[tuple[int, int]] = []
    load = SharedEngine.load

    def noted(engine: SharedEngine, changes: Changes, positions: Positions = NO_POSITIONS, *args: Any) -> None:
        found.append((len(changes["counts"] or ()), positions[LOGGED]))
        load(engine, changes, positions, *args)

    monkeypatch.setattr(SharedEngine, "load", noted)
    monkeypatch.setattr(StreamTask, "saved", lambda _, positions: positions)  # as if the store were on disk
    return found


def log_rows(kafka: FakeKafka, count: int, value: bytes = b"12345678", partition: int = 0) -> None:
    """Let another member write rows with different keys."""
    log = kafka.logs[TopicPartition(CHANGELOG, partition)]
    log.extend(LogEntry(b"%d" % at, value, at) for at in range(count))


async def test_a_restoration_loads_fifty_thousand_records_at_once(loads: list[tuple[int, int]]) -> None:
    process = Process(brokers())
    log_rows(process.kafka, 60_001)
    process.member.assign("0_0")
    await process.worker.start()
    while not process.worker.is_running:
        await process.worker.turn()
    assert loads == [(50_000, 50_000), (10_001, 60_001)]


async def test_a_restoration_loads_five_thousand_records_at_once_beside_running_tasks(
    loads: list[tuple[int, int]],
) -> None:
    process = Process(brokers(2))
    process.member.assign("0_1")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    log_rows(process.kafka, 10_001)
    process.member.assign("0_0")
    process.clock.advance(1_000)
    await process.worker.turn()
    while not process.worker.is_running:
        await process.worker.turn()
    assert loads == [(5_000, 5_000), (5_000, 10_000), (1, 10_001)]


async def test_a_load_has_sixteen_mebibytes_at_most(loads: list[tuple[int, int]]) -> None:
    process = Process(brokers())
    poll = process.plane.poll_restoring

    async def ten(most: int) -> PolledRecords:
        return await poll(min(most, 10))

    process.plane.poll_restoring = ten  # type: ignore[method-assign]
    log_rows(process.kafka, 55, bytes(1 << 20))
    process.member.assign("0_0")
    await process.worker.start()
    while not process.worker.is_running:
        await process.worker.turn()
    assert loads == [(20, 20), (20, 40), (15, 55)]


async def test_what_is_gathered_for_a_standby_is_loaded_in_time_though_its_log_never_ends(
    loads: list[tuple[int, int]],
) -> None:
    process = await following("standby", count=0)
    read_slowly(process)
    log_counts(process.kafka, 100)
    loads.clear()
    for _ in range(4):
        await process.worker.turn()
    assert loads == []
    process.clock.advance(500)
    await process.worker.turn()
    assert loads == [(5, 5)]


@pytest.mark.parametrize("is_paused", [False, True])
async def test_what_is_gathered_is_loaded_and_not_read_again(loads: list[tuple[int, int]], is_paused: bool) -> None:
    process = await following("standby")
    read_slowly(process)
    log_counts(process.kafka, 100)
    starts: list[dict[TopicPartition, int]] = []
    assign = process.plane.assign_restoring

    async def noted(given: dict[TopicPartition, int]) -> None:
        starts.append(dict(given))
        await assign(given)

    process.plane.assign_restoring = noted  # type: ignore[method-assign, assignment]
    for _ in range(3):
        await process.worker.turn()
    loads.clear()
    if is_paused:
        process.worker.is_paused = True
        await process.worker.turn()
        process.worker.is_paused = False
    else:
        process.member.promote("0_0")
    await process.worker.turn()
    assert loads == [(3, 9)]
    assert starts == [{LOGGED: 9}]


async def test_records_that_are_gathered_are_dropped_with_a_task_that_ends(loads: list[tuple[int, int]]) -> None:
    process = await following("standby")
    read_slowly(process)
    log_counts(process.kafka, 100)
    await process.worker.turn()
    loads.clear()
    process.member.events.append(TasksRevoked(MemberTasks(standby=[TASK])))
    process.clock.advance(500)
    await process.worker.turn()
    process.member.assign(standby=["0_0"])
    await process.worker.turn()
    process.clock.advance(500)
    await process.worker.turn()
    assert loads == [(2, 2)], "the new task begins at the beginning"


async def test_a_changelog_that_is_another_one_is_told_and_the_task_begins_without_its_stores(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = await following("standby")
    poll, news = process.plane.poll_restoring, [PolledRecords({}, {}, (LOGGED,), {LOGGED: LogChange(6, 4)})]

    async def polled(most: int) -> PolledRecords:
        return news.pop() if news else await poll(most)

    process.plane.poll_restoring = polled  # type: ignore[method-assign]
    process.kafka.logs[LOGGED] = process.kafka.logs[LOGGED][:2]
    await process.turn_until(lambda: not news and TASK in process.worker.tasks and has_all(process))
    assert "read up to offset 6, and its leader has lost the records from offset 4 on" in caplog.text
    assert "changelogs of task 0_0" in caplog.text
    assert rows(process) == 2
