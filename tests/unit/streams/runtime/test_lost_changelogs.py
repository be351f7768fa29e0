"""A changelog that ends before what a worker had of it was deleted or truncated, and stores have lost rows."""

import logging

import pytest

from kafka_groups.streams.runtime.assigned import TaskRole
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import CHANGELOG, Process
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
