"""Handler workers in virtual time that write through the confirmed writer of their process, as in production."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from attrs import evolve

from kafka_groups.records.partitioning import partition_of
from kafka_groups.share import Reject, Retry, RetryTopics, Worker, current_attempt
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, reach, reasons, simulate, values_left

MANY = "orders.many.dead"
PARTITIONS = 7
KEYS = (b"ann", b"bob", b"cat", b"dog", b"eve")


@asynccontextmanager
async def writing(world: WorkerWorld, worker: Worker) -> AsyncIterator[WorkerRuntime]:
    """Run a worker with the writer of production."""
    settings = evolve(world.settings({"request_timeout_ms": 2_000}), writer=None)
    runtime = WorkerRuntime(settings, worker.handlers, None, world.telemetry)
    await runtime.start()
    try:
        yield runtime
    finally:
        runtime.stop(5_000)
        await runtime.wait()


def rejecting(world: WorkerWorld, dead_letters: str) -> Worker:
    """A worker that rejects everything."""
    worker = world.worker()

    @worker.handler(TOPIC, dead_letters=dead_letters)
    async def handle(value: bytes) -> None:
        raise Reject("no")

    return worker


def test_dead_letters_have_the_partitions_that_a_java_producer_chooses() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(MANY, PARTITIONS)
        world.cluster.produce(TOPIC, KEYS, keys=KEYS)
        async with writing(world, rejecting(world, MANY)):
            await reach(lambda: len(world.cluster.records(MANY)) == len(KEYS))
        placed = {record.key: record.partition for record in world.cluster.records(MANY)}
        assert placed == {key: partition_of(key, PARTITIONS) for key in KEYS}
        assert await values_left(world) == []

    simulate(program)


def test_a_topic_that_was_deleted_holds_its_records_and_no_others_until_it_is_back() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic("payments", 1)
        world.cluster.create_topic(MANY, 1)
        worker = rejecting(world, DEAD)

        @worker.handler("payments", dead_letters=MANY)
        async def pay(value: bytes) -> None:
            raise Reject("no")

        async with writing(world, worker) as runtime:
            await reach(lambda: runtime.health.is_ready)
            world.cluster.delete_topic(DEAD)
            await world.produce([b"1"])
            await reach(lambda: f"cannot write to {DEAD}" in reasons(runtime))
            world.cluster.produce("payments", [b"2"])
            await reach(lambda: world.cluster.records(MANY), 2)
            await asyncio.sleep(60)
            world.cluster.create_topic(DEAD, 1)
            await reach(lambda: world.cluster.records(DEAD))
            await reach(lambda: runtime.health.is_ready)
        assert await values_left(world) == []

    simulate(program)


@pytest.mark.parametrize("deleted", ["invoices", "orders.retry.10s"])
def test_an_output_or_a_retry_topic_that_was_deleted_holds_its_records(deleted: str) -> None:
    async def program(world: WorkerWorld) -> None:
        delayed = {"message.timestamp.type": "LogAppendTime"}
        world.cluster.create_topic("invoices", 1)
        world.cluster.create_topic("orders.retry.10s", 1, configs=delayed)
        worker = world.worker()
        retry_topics, runs = RetryTopics("orders.retry", delays=(10,)), list[int]()

        @worker.handler(TOPIC, dead_letters=DEAD, retry_topics=retry_topics, output="invoices")
        async def sell(value: bytes) -> bytes:
            runs.append(current_attempt().number)
            if deleted != "invoices" and runs == [1]:
                raise Retry("later", after=15)
            return value

        async with writing(world, worker) as runtime:
            await reach(lambda: runtime.health.is_ready)
            world.cluster.delete_topic(deleted)
            await world.produce([b"1"])
            await reach(lambda: f"cannot write to {deleted}" in reasons(runtime))
            await asyncio.sleep(60)
            assert runs == [1], "the handler is not called again"
            assert not runtime.health.is_ready
            world.cluster.create_topic(deleted, 1, configs=delayed)
            await reach(lambda: world.cluster.records("invoices"))
            await reach(lambda: runtime.health.is_ready)
        assert runs == ([1] if deleted == "invoices" else [1, 2])
        assert await values_left(world) == []

    simulate(program)


def test_a_stop_during_an_outage_of_a_topic_releases_the_records_that_wait_for_it() -> None:
    async def program(world: WorkerWorld) -> None:
        async with writing(world, rejecting(world, DEAD)) as runtime:
            await reach(lambda: runtime.health.is_ready)
            world.cluster.delete_topic(DEAD)
            await world.produce([b"1"])
            await reach(lambda: f"cannot write to {DEAD}" in reasons(runtime))
            began_s = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - began_s < 7, "the time of the stop, and that of leaving the group"
        assert await values_left(world) == [b"1"]

    simulate(program)
