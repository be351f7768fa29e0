"""The positions of a worker's tasks that a member tells the leader of its classic group, as Java tells them."""

from pathlib import Path

import pytest

from kafka_groups.records.interface import NOTHING, PolledRecords
from kafka_groups.streams import Optimization, StreamsBuilder, Topology, serdes, stores
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.member.classic.member_subscription import _sum
from kafka_groups.streams.runtime.assigned import TaskPhase
from kafka_groups.streams.runtime.restoration import Restoration
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId
from tests.unit.streams.runtime.counting import Process, brokers
from tests.unit.streams.runtime.test_restoration import log_counts

TASK = TaskId("0", 0)
RUNNING = -2


def told(process: Process) -> dict[TaskId, int]:
    return {task: _sum(position) for task, position in process.worker.positions().items()}


async def begun(role: str = "active", topology: Topology | None = None) -> Process:
    """A worker whose task has done what it has to do with empty changelogs."""
    process = Process(brokers(), topology=topology, is_classic=True)
    if role == "standby":
        process.member.assign(standby=["0_0"])
    else:
        process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.tasks and process.worker.is_running)
    await process.turn_until(lambda: process.worker.tasks[TASK].phase is not TaskPhase.CREATED)
    return process


async def test_a_running_task_with_an_empty_changelog_is_told_as_running() -> None:
    assert told(await begun()) == {TASK: RUNNING}


async def test_a_standby_task_with_an_empty_changelog_has_a_sum_of_nothing() -> None:
    assert told(await begun("standby")) == {TASK: 0}


def table() -> Topology:
    builder = StreamsBuilder(optimization=Optimization.SOURCE_TOPICS_AS_CHANGELOGS)
    builder.table("words", key=serdes.string, value=serdes.string, store="words")
    return builder.build()


async def test_a_standby_task_whose_source_is_its_changelog_has_a_sum_too() -> None:
    assert told(await begun("standby", table())) == {TASK: 0}
    assert told(await begun("active", table())) == {TASK: RUNNING}


def unlogged() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    words.group_by_key().count(store=stores.key_value("counts", serdes.string, serdes.int64, changelog=False))
    return builder.build()


async def test_a_task_without_changelogs_is_never_told() -> None:
    assert told(await begun(topology=unlogged())) == {}


async def nothing_yet(_most: int) -> PolledRecords:
    return NOTHING


async def test_a_task_that_restores_has_the_sum_so_far_and_one_that_has_not_begun_is_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = Process(brokers(), is_classic=True)
    log_counts(process.kafka, 40)
    process.member.assign("0_0")
    await process.worker.start()

    async def waits(*_given: object) -> None:
        """The brokers do not tell where the changelogs end."""

    with monkeypatch.context() as patch:
        patch.setattr(Restoration, "begin", waits)
        for _ in range(3):
            await process.turn_until(lambda: process.worker.tasks)
        assert told(process) == {}
    process.plane.poll_restoring = nothing_yet  # type: ignore[method-assign, assignment]
    await process.turn_until(lambda: told(process))
    assert told(process) == {TASK: 0}
    del process.plane.poll_restoring
    await process.turn_until(lambda: process.worker.is_running)
    assert told(process) == {TASK: RUNNING}


@pytest.mark.parametrize(("is_classic", "left"), [(False, {TASK: 0}), (True, {})])
async def test_state_that_no_task_has_is_told_to_streams_groups_and_the_member_of_a_classic_group_finds_it(
    tmp_path: Path, is_classic: bool, left: dict[TaskId, int]
) -> None:
    first, second = (
        Process(brokers(), engines=DiskEngines(tmp_path, "boot 1", ManualClock()), is_classic=is_classic)
        for _ in range(2)
    )
    first.member.assign("0_0")
    await first.worker.start()
    await first.turn_until(lambda: first.worker.tasks and first.worker.is_running)
    await first.worker.close()
    await second.worker.start()
    assert told(second) == left
    await second.worker.close()
