"""A retry group without room for another member: others read its topics, or nobody does."""

import asyncio

import pytest

from kafka_groups.errors import ConfigurationError
from tests.unit.share.clusters import SETTINGS, TOPIC
from tests.unit.share.workers.retry_worlds import RetryStage
from tests.unit.share.workers.worlds import WorkerWorld, reach, reasons, simulate


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "group.share.max.size", 2)


def test_a_process_goes_on_without_members_while_others_read_the_topics_and_joins_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def program(world: WorkerWorld) -> None:
        stage = RetryStage(world)
        started: list[bytes] = []

        async def sell(value: bytes) -> None:
            started.append(value)

        first, second = world.worker(), world.worker()
        for worker in (first, second):
            worker.handler(TOPIC, **stage.options())(sell)
        async with world.running(second) as later:
            async with world.running(first) as runtime:
                await reach(lambda: runtime.health.is_ready or later.health.is_ready)
                stage.fail(b"a", 2)
                await reach(lambda: started == [b"a"])
                await reach(lambda: runtime.health.is_ready and later.health.is_ready)
            # Whichever had the members: after a minute the other one has room.
            stage.fail(b"b", 2)
            await reach(lambda: started == [b"a", b"b"])
            assert later.health.is_ready, reasons(later)

    simulate(program)
    notes = [text for text in caplog.messages if "is full" in text]
    assert len(notes) == 1
    assert notes[0].startswith("The share group g-retry is full (")
    assert "Each process of this worker needs 2 members there, one for each delay of 1 handler with retry" in notes[0]


def test_the_start_fails_if_nobody_reads_a_topic() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world, delays=(2, 20, 60)), world.worker()
        worker.handler(TOPIC, **stage.options())(lambda value: None)
        runtime = world.runtime(worker)
        await runtime.start()
        with pytest.raises(ConfigurationError, match=r"handler sell: The share group g-retry is full .* No member of"):
            await runtime.wait()

    simulate(program)


def test_a_stop_ends_the_wait_for_room() -> None:
    async def program(world: WorkerWorld) -> None:
        stage = RetryStage(world)
        first, second = world.worker(), world.worker()
        for worker in (first, second):
            worker.handler(TOPIC, **stage.options())(lambda value: None)
        async with world.running(first) as runtime:
            await reach(lambda: runtime.health.is_ready)
            async with world.running(second) as later:
                await reach(lambda: later.health.is_ready)
                began_s = asyncio.get_running_loop().time()
            assert asyncio.get_running_loop().time() - began_s < 10

    simulate(program)
