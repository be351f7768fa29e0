"""The figures of a handler count each call, and the wait of each record once for each delivery."""

import asyncio

import pytest

from kafka_groups import Backoff, Batch, ShareRecord, current_attempt
from kafka_groups.serdes import string
from kafka_groups.telemetry.handler_sensors import HandlerSnapshot
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, reach, simulate


def figures(world: WorkerWorld) -> HandlerSnapshot:
    (found,) = world.telemetry.snapshot().values()
    return found


def accepted(world: WorkerWorld) -> int:
    return figures(world).records.get("accepted", 0)


def waits(world: WorkerWorld) -> int:
    return sum(figures(world).waiting_seconds.counts)


def test_records_that_a_slow_run_gives_back_wait_once() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, concurrency=10)
        async def handle(value: bytes) -> None:
            await asyncio.sleep(0.2 if int(value) >= 1000 else 0)

        await world.produce([b"%d" % number for number in range(1500)])
        async with world.running(worker):
            await reach(lambda: accepted(world) == 1500)
        assert waits(world) == 1500
        assert figures(world).attempts == {("succeeded", ""): 1500}

    simulate(program)


def test_records_wait_until_their_attempt_begins_and_not_until_it_ends() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        begun_after_s: list[float] = []

        @worker.handler(TOPIC, concurrency=1)
        async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            begun_after_s.append((world.clock.wall_ms() - (record.timestamp or 0)) / 1000)
            await asyncio.sleep(100)

        async with world.running(worker):
            await asyncio.sleep(5)
            await world.produce([b"1", b"2"])
            await reach(lambda: accepted(world) == 2)
        assert waits(world) == 2
        assert figures(world).waiting_seconds.total == pytest.approx(sum(begun_after_s), rel=0, abs=0.1)

    simulate(program)


def test_halves_of_a_batch_are_further_attempts_with_their_records() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        numbers: dict[int, list[int]] = {}

        @worker.batch_handler(TOPIC, max_records=8, dead_letters=DEAD, errors={ValueError: Backoff(times=0)})
        async def handle(batch: Batch[bytes]) -> None:
            numbers.setdefault(len(batch), []).append(current_attempt().number)
            if b"bad" in batch:
                raise ValueError("one of them is bad")

        await world.produce([b"bad", *[b"fine"] * 7])
        async with world.running(worker):
            await reach(lambda: world.letters.written and accepted(world) == 7)
        assert numbers == {8: [1], 4: [2, 2], 2: [3, 3], 1: [4, 4]}
        assert waits(world) == 8
        assert figures(world).attempts == {("failed", "ValueError"): 4, ("succeeded", ""): 3}

    simulate(program)


def test_a_batch_that_returns_has_succeeded_whatever_it_decided() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        sizes: list[int] = []

        @worker.batch_handler(TOPIC, value=string, max_records=5, dead_letters=DEAD)
        async def handle(batch: Batch[str]) -> None:
            sizes.append(len(batch))
            batch.reject(0, "bad")
            batch.reject(1, "bad")

        await world.produce([b"%d" % number for number in range(9)] + [b"\xff"])
        async with world.running(worker):
            await reach(lambda: len(world.letters.written) == 5)
        assert sorted(sizes) == [4, 5]
        found = figures(world)
        assert found.attempts == {("succeeded", ""): 2, ("failed", "ParseError"): 1}
        assert sum(found.handler_seconds.counts) == 2
        assert waits(world) == 10

    simulate(program)


def test_a_batch_of_values_that_cannot_be_parsed_is_no_call() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.batch_handler(TOPIC, value=string, max_records=2, dead_letters=DEAD)
        async def handle(batch: Batch[str]) -> None:
            raise AssertionError

        await world.produce([b"\xff", b"\xfe"])
        async with world.running(worker):
            await reach(lambda: len(world.letters.written) == 2)
        found = figures(world)
        assert found.attempts == {("failed", "ParseError"): 2}
        assert sum(found.handler_seconds.counts) == 0

    simulate(program)
