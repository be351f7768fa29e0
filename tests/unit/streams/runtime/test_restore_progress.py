"""The log of restorations."""

import pytest

from kafka_groups.streams.runtime import restoration
from kafka_groups.streams.runtime.restore_progress import RestoreProgress
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import Process, brokers, enriched
from tests.unit.streams.runtime.test_global_stores import joining
from tests.unit.streams.runtime.test_restoration import has_all, log_counts, read_slowly

LOGGER = "kafka_groups.streams.runtime.restore_progress"


@pytest.fixture(autouse=True)
def small_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOADED_RECORDS", "LOADED_BESIDE"):
        monkeypatch.setattr(restoration, name, 1)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged since the last call."""
    found = [each.getMessage() for each in caplog.records if each.name == LOGGER]
    caplog.clear()
    return found


def test_the_beginning_each_ten_seconds_and_the_end_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock, left = ManualClock(), 3_000_000
    progress = RestoreProgress(clock)
    with caplog.at_level("INFO"):
        progress.begin("task 0_1", "store counts from app-counts-changelog", lambda: left)
        assert told(caplog) == ["Restoring task 0_1: store counts from app-counts-changelog, 3,000,000 offsets"]
        for _ in range(19):
            clock.advance(1_000)
            left -= 100_000
            progress.took("task 0_1", 100_000)
            progress.look()
        assert told(caplog) == [
            "Restoring task 0_1: 1,000,000 records so far, 100,000 records/s, 2,000,000 offsets left (about 20 s)"
        ]
        clock.advance(1_000)
        left = 0
        progress.took("task 0_1", 50_000)
        progress.look()
    assert told(caplog) == ["Restored task 0_1: 1,950,000 records in 20.0 s (97,500 records/s)"]


def test_many_tasks_are_one_line_and_a_task_that_goes_is_told(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    progress = RestoreProgress(clock)
    with caplog.at_level("INFO"):
        for number in range(7):
            progress.begin(f"task 0_{number}", "store counts from changelog", lambda: 10)
        told(caplog)
        clock.advance(10_000)
        progress.look()
        progress.stop("task 0_3")
        progress.stop("task 0_3")
    assert told(caplog) == [
        (
            "Restoring task 0_0, task 0_1, task 0_2, task 0_3, task 0_4 and 2 more: 0 records so far, 0 records/s, "
            "70 offsets left"
        ),
        "Stopped restoring task 0_3: 0 records in 10.0 s (0 records/s), 10 offsets left",
    ]
    assert progress.obstacle is not None
    assert "60 offsets left" in progress.obstacle


def test_nothing_to_read_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    progress = RestoreProgress(ManualClock())
    with caplog.at_level("INFO"):
        progress.begin("task 0_0", "store counts from changelog", lambda: 0)
        progress.took("task 0_0", 1)
        progress.look()
    assert (told(caplog), progress.obstacle) == ([], None)


async def test_a_worker_tells_how_its_tasks_are_restored(caplog: pytest.LogCaptureFixture) -> None:
    process = Process(brokers())
    log_counts(process.kafka, 30)
    read_slowly(process)
    process.member.assign("0_0")
    await process.worker.start()
    with caplog.at_level("INFO"):
        await process.turn_until(lambda: process.worker.is_running)
    lines = told(caplog)
    assert lines[0] == "Restoring task 0_0: store counts from app-counts-changelog, 30 offsets"
    assert "1 record/s, 19 offsets left" in lines[1]
    assert lines[-1].startswith("Restored task 0_0: 30 records in ")
    assert len(lines) == 4


async def test_a_task_that_is_taken_away_while_it_is_restored_is_told(caplog: pytest.LogCaptureFixture) -> None:
    process = Process(brokers())
    log_counts(process.kafka, 30)
    read_slowly(process)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: TaskId("0", 0) in process.worker.tasks)
    with caplog.at_level("INFO"):
        process.member.revoke("0_0")
        await process.turn_until(lambda: not process.worker.tasks)
    assert told(caplog)[-1].startswith("Stopped restoring task 0_0: ")


async def test_global_stores_are_told_too(caplog: pytest.LogCaptureFixture) -> None:
    process = joining()
    process.kafka.produce("names", "c", "cat")
    process.member.events.clear()
    with caplog.at_level("INFO"):
        await process.worker.start()
        process.member.is_spare = True
        await process.turn_until(lambda: process.worker.is_running)
    first, last = told(caplog)
    assert first.startswith("Restoring the global stores: store ")
    assert first.endswith(" from names, 2 offsets")
    assert last.startswith("Restored the global stores: 2 records in ")


@pytest.mark.parametrize(("role", "name"), [("standby", "standby task 0_0"), ("warmup", "warm-up task 0_0")])
async def test_a_copy_that_catches_up_is_told_and_keeps_no_worker_from_running(
    role: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    process = Process(brokers())
    log_counts(process.kafka, 30)
    read_slowly(process)
    process.member.assign(**{role: ["0_0"]})
    await process.worker.start()
    with caplog.at_level("INFO"):
        await process.turn_until(lambda: TaskId("0", 0) in process.worker.tasks and told_of(caplog, name))
        assert process.worker.is_running
        assert not [each for each in process.worker._obstacles() if "restores" in each]
        await process.turn_until(lambda: has_all(process))
    lines = told(caplog)
    assert lines[0] == f"Restoring {name}: store counts from app-counts-changelog, 30 offsets"
    assert lines[1].startswith(f"Restoring {name}: ")
    assert "1 record/s, 19 offsets left" in lines[1]
    assert lines[-1].startswith(f"Restored {name}: 30 records in ")
    assert len(lines) == 4
    log_counts(process.kafka, 3)
    with caplog.at_level("INFO"):
        await process.turn_until(lambda: has_all(process))
    assert told(caplog) == []  # it follows its changelogs from now on


def told_of(caplog: pytest.LogCaptureFixture, name: str) -> bool:
    return any(name in each.getMessage() for each in caplog.records)


async def test_a_standby_of_a_changelog_that_grows_has_caught_up_when_it_reaches_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = Process(brokers())
    log_counts(process.kafka, 10)
    read_slowly(process)
    process.member.assign(standby=["0_0"])
    await process.worker.start()
    with caplog.at_level("INFO"):
        await process.turn_until(lambda: TaskId("0", 0) in process.worker.tasks)
        log_counts(process.kafka, 20)
        await process.turn_until(lambda: has_all(process))
    assert told(caplog)[-1].startswith("Restored standby task 0_0: 30 records in ")


async def test_a_standby_that_is_promoted_before_it_has_caught_up_is_told(caplog: pytest.LogCaptureFixture) -> None:
    process = Process(brokers())
    log_counts(process.kafka, 30)
    read_slowly(process)
    process.member.assign(standby=["0_0"])
    await process.worker.start()
    with caplog.at_level("INFO"):
        await process.turn_until(lambda: TaskId("0", 0) in process.worker.tasks)
        process.member.promote("0_0")
        await process.turn_until(lambda: process.member.confirmed and process.worker.is_running)
    lines = [each.split(":")[0] for each in told(caplog)]
    begun, stopped, again = "Restoring standby task 0_0", "Stopped restoring standby task 0_0", "Restoring task 0_0"
    assert lines[:3] == [begun, stopped, again]
    assert lines[-1] == "Restored task 0_0"


async def test_partitions_that_global_topics_gain_are_told(caplog: pytest.LogCaptureFixture) -> None:
    kafka = FakeKafka({"names": 1, "orders": 1, "named": 1})
    process = Process(kafka, topology=enriched())
    process.member.assign("1_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    kafka.counts["names"] = 3
    for at in range(24):
        kafka.produce("names", f"k{at}", "x", partition=1 + at % 2)
    read_slowly(process)
    with caplog.at_level("INFO"):
        await process.turn_until(lambda: told_of(caplog, "Restoring new partitions"))
        assert process.worker.is_running
        await process.turn_until(lambda: told_of(caplog, "Restored new partitions"))
    lines = told(caplog)
    name = "new partitions of global topics"
    assert lines[0].startswith(f"Restoring {name}: store ")
    assert lines[0].endswith(" from names-2, 24 offsets")
    assert lines[1].startswith(f"Restoring {name}: ")
    assert "20 records so far, 2 records/s, 4 offsets left" in lines[1]
    assert lines[-1].startswith(f"Restored {name}: 24 records in ")


def test_a_restoration_that_gets_more_to_read_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    clock, left = ManualClock(), 10
    progress = RestoreProgress(clock)
    with caplog.at_level("INFO"):
        progress.begin("new partitions", "store s from a-1", lambda: left, is_awaited=False)
        clock.advance(1_000)
        left = 4
        progress.took("new partitions", 6)
        left = 9
        progress.begin("new partitions", "store s from a-2", lambda: left, is_awaited=False)
        clock.advance(1_000)
        left = 0
        progress.took("new partitions", 9)
    assert progress.obstacle is None
    assert told(caplog)[-1] == "Restored new partitions: 15 records in 2.0 s (8 records/s)"
