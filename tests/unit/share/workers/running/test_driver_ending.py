"""The end of handler workers in virtual time: their grace, and attempts that outlast it."""

import asyncio
from contextlib import suppress

import pytest

from kafka_groups.share import Backoff, Batch, OnError
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import WorkerWorld, has, reach, reasons, simulate, values_left


def test_a_record_that_waits_is_released_at_the_end() -> None:
    async def program(world: WorkerWorld) -> None:
        failed: list[bytes] = []
        worker = world.worker()

        @worker.handler(TOPIC, retries=Backoff(first=600, most=600))
        async def handle(value: bytes) -> None:
            failed.append(value)
            raise ValueError(value)

        await world.produce([b"later"])
        async with world.running(worker):
            await reach(lambda: failed)
        assert await values_left(world) == [b"later"]

    simulate(program)


def test_running_handlers_finish_within_the_grace_or_are_cancelled_and_others_are_released() -> None:
    async def program(world: WorkerWorld) -> None:
        done: list[bytes] = []
        started: list[bytes] = []
        cancelled: list[bytes] = []
        worker = world.worker()

        @worker.handler(TOPIC, concurrency=1, buffer=2, errors={Exception: OnError.REJECT})
        async def handle(value: bytes) -> None:
            started.append(value)
            try:
                await asyncio.sleep(3)
            except asyncio.CancelledError:
                cancelled.append(value)
                raise
            done.append(value)

        await world.produce([b"1", b"2", b"3"])
        async with world.running(worker, grace_s=4):
            await reach(lambda: started)
        assert (done, cancelled) == ([b"1"], [b"2"]), "the second outlasts the grace of four seconds"
        assert await values_left(world) == [b"2", b"3"]

    simulate(program)


def test_a_batch_that_outlasts_the_grace_is_cancelled_and_released() -> None:
    async def program(world: WorkerWorld) -> None:
        started: list[int] = []
        worker = world.worker()

        @worker.batch_handler(TOPIC, max_records=3, max_wait=0.1)
        async def store(batch: Batch[bytes]) -> None:
            started.append(len(batch))
            await asyncio.sleep(3600)

        await world.produce([b"1", b"2", b"3"])
        async with world.running(worker, grace_s=4):
            await reach(lambda: started)
            begun_s = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun_s < 6
        assert await values_left(world) == [b"1", b"2", b"3"]

    simulate(program)


def test_a_task_that_ignores_its_end_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        started, may_end = asyncio.Event(), asyncio.Event()
        worker = world.worker()

        @worker.handler(TOPIC)
        async def handle(value: bytes) -> None:
            started.set()
            while not may_end.is_set():
                with suppress(asyncio.CancelledError):
                    await may_end.wait()

        await world.produce([b"1"])
        async with world.running(worker, grace_s=4):
            await reach(started.is_set)
            begun_s = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun_s < 7
        may_end.set()
        assert await values_left(world) == [b"1"]

    simulate(program)
    assert "orders-0@0 still runs after shutdown_timeout" in caplog.text


def test_records_that_run_beside_a_task_that_hangs_have_their_grace(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        started, done, may_end = list[bytes](), list[bytes](), asyncio.Event()
        worker = world.worker()

        @worker.handler(TOPIC, concurrency=2, timeout=10)
        async def handle(value: bytes) -> None:
            started.append(value)
            while value == b"hangs" and not may_end.is_set():
                with suppress(asyncio.CancelledError):
                    await may_end.wait()
            await asyncio.sleep(3)
            done.append(value)

        await world.produce([b"hangs"])
        async with world.running(worker, grace_s=4) as runtime:
            await reach(lambda: "cannot be stopped" in reasons(runtime))
            await world.produce([b"good"])
            await reach(lambda: has(started, 2))
        assert done == [b"good"]
        may_end.set()
        assert await values_left(world) == [b"hangs"]

    simulate(program)
    assert "orders-0@0 cannot be stopped, so the worker ends without it" in caplog.text
