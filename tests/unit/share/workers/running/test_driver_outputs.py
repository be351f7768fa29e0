"""Handlers with outputs against an embedded cluster in virtual time: records are accepted when these are confirmed."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kafka_groups import serdes
from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.share import Batch, Output, ProducerRecord
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, has, reach, simulate, values_left

INVOICES = "invoices"
TEXTS = Output(INVOICES, value=serdes.string)


def written(world: WorkerWorld, topic: str = INVOICES) -> list[bytes | None]:
    """The values that were written to a topic, in order."""
    return [letter.value for letter in world.letters.written if letter.record.topic == topic]


def test_results_are_written_and_their_records_accepted_then() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(INVOICES, 1)
        world.letters.takes_s = 5.0
        worker = world.worker()
        runs: list[str] = []

        @worker.handler(TOPIC, value=serdes.string, output=TEXTS)
        async def handle(value: str) -> AsyncIterator[str]:
            runs.append(value)
            yield f"{value} first"
            await asyncio.sleep(0.01)
            yield f"{value} last"

        await world.produce([b"a"])
        async with world.running(worker) as runtime:
            await reach(lambda: runs)
            await asyncio.sleep(2)
            (running,) = runtime._running
            assert running.handling.in_hand["writing"] == 1
            await reach(lambda: written(world))
        assert written(world) == [b"a first", b"a last"]
        assert runs == ["a"]
        assert await values_left(world) == []

    simulate(program)


def test_a_write_that_fails_is_repeated_and_the_handler_is_not() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(INVOICES, 1)
        world.letters.is_down = True
        worker = world.worker()
        runs: list[bytes] = []

        @worker.handler(TOPIC, output=INVOICES)
        async def handle(value: bytes) -> bytes:
            runs.append(value)
            return value

        await world.produce([b"a", b"b"])
        async with world.running(worker) as runtime:
            await reach(lambda: world.letters.tries > 5)
            await reach(lambda: not runtime.health.is_ready)
            assert f"cannot write to {INVOICES}" in "; ".join(runtime.health.reasons)
            assert not written(world)
            world.letters.is_down = False
            await reach(lambda: has(written(world), 2))
            await reach(lambda: runtime.health.is_ready)
        assert sorted(runs) == [b"a", b"b"]
        assert await values_left(world) == []

    simulate(program)


def test_the_next_record_of_a_key_runs_after_the_confirmation() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(INVOICES, 1)
        world.letters.takes_s = 3.0
        worker = world.worker()
        events: list[str] = []

        @worker.handler(TOPIC, value=serdes.string, output=TEXTS, order_by=lambda record: "one key")
        async def handle(value: str) -> str:
            events.append(f"{value} after {len(written(world))}")
            return value

        await world.produce([b"a", b"b", b"c"])
        async with world.running(worker, grace_s=20):
            await reach(lambda: has(written(world), 3))
        assert events == ["a after 0", "b after 1", "c after 2"]
        assert written(world) == [b"a", b"b", b"c"]

    simulate(program)


def test_a_batch_writes_for_what_it_accepts_and_the_rest_becomes_dead_letters() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(INVOICES, 1)
        worker = world.worker()

        @worker.batch_handler(TOPIC, value=serdes.string, output=TEXTS, dead_letters=DEAD, max_wait=0.1)
        async def handle(batch: Batch[str]) -> None:
            for index, value in enumerate(batch):
                batch.output(index, value, ProducerRecord(value, key=None))
                if value == "bad":
                    batch.reject(index)

        await world.produce([b"a", b"bad", b"b"])
        async with world.running(worker):
            await reach(lambda: has(written(world), 4) and written(world, DEAD))
        assert written(world) == [b"a", b"a", b"b", b"b"]
        assert written(world, DEAD) == [b"bad"]
        assert await values_left(world) == []

    simulate(program)


def test_a_record_whose_lock_is_lost_during_the_write_is_accepted_when_it_comes_again() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(INVOICES, 1)
        world.letters.takes_s = 30.0
        worker = world.worker()
        runs: list[bytes] = []

        @worker.handler(TOPIC, output=INVOICES)
        async def handle(value: bytes) -> bytes:
            runs.append(value)
            return value

        await world.produce([b"a"])
        async with world.running(worker, grace_s=60) as runtime:
            (running,) = runtime._running
            await reach(lambda: running.handling.in_hand["writing"])
            world.cluster.faults.on(ApiKey.SHARE_FETCH, DROP_CONNECTION, times=1)
            await reach(lambda: not running.handling.in_hand["writing"])
            assert not written(world)
            await reach(lambda: written(world))
            await asyncio.sleep(1)
        assert (runs, written(world)) == ([b"a"], [b"a"])
        assert await values_left(world) == []

    simulate(program)


def test_a_start_without_the_topic_of_an_output_fails() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, output=["invoices", "audit"])
        async def handle(value: bytes) -> ProducerRecord[bytes, bytes]:
            return ProducerRecord(value, topic="audit")

        world.cluster.create_topic("invoices", 1)
        with pytest.raises(ConfigurationError, match=r"handle: the topic output='audit' does not exist\. Create"):
            await world.runtime(worker).start()

    simulate(program)
