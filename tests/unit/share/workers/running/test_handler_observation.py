"""Observations of a handler in a worker that runs: its rate, its fullest window, its writes and its last failure."""

import asyncio

from kafka_groups import Backoff, Batch, OnError
from kafka_groups.telemetry.handler_details import HandlerDetails
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, reach, simulate


def details(world: WorkerWorld) -> HandlerDetails:
    (found,) = world.telemetry.snapshot().values()
    return found.details


def test_a_worker_tells_its_rate_and_its_last_failure() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD, errors={ValueError: Backoff(times=0), KeyError: OnError.REJECT})
        async def handle(value: bytes) -> None:
            if value == b"3":
                raise KeyError("a secret")
            if value == b"5":
                raise ValueError("another secret")

        before_ms = world.clock.wall_ms()
        async with world.running(worker):
            await world.produce([b"%d" % number for number in range(20)])
            await reach(lambda: details(world).rate > 0)
            await reach(lambda: len(world.letters.written) == 1 and details(world).last_failure is not None)
            last = details(world).last_failure
            assert last is not None
            assert (last.error_type, last.topic, last.partition, last.offset) == ("ValueError", TOPIC, 0, 5)
            assert before_ms <= last.at_ms <= world.clock.wall_ms()
            assert "secret" not in repr(details(world))
            await asyncio.sleep(30)
            assert details(world).rate == 0
            assert details(world).fullest_window is None

    simulate(program)


def test_a_failed_batch_is_the_failure_of_its_first_record() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.batch_handler(TOPIC, max_records=4, dead_letters=DEAD, errors={ValueError: Backoff(times=0)})
        async def handle(batch: Batch[bytes]) -> None:
            raise ValueError("one of them is bad")

        await world.produce([b"a"])
        async with world.running(worker):
            await reach(lambda: details(world).last_failure is not None)
        last = details(world).last_failure
        assert last is not None
        assert (last.error_type, last.offset) == ("ValueError", 0)

    simulate(program)


def test_the_fullest_window_and_the_writes_under_way_are_told() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        world.letters.takes_s = 10.0
        world.cluster.create_topic("results", 1)

        @worker.handler(TOPIC, output="results")
        async def handle(value: bytes) -> bytes:
            return value

        await world.produce([b"a", b"b"])
        async with world.running(worker, grace_s=60):
            await reach(lambda: details(world).unconfirmed_outputs == 2)
            found = details(world)
            assert found.unconfirmed_writes == 2
            window = found.fullest_window
            assert window is not None
            assert (window.topic, window.oldest_offset) == (TOPIC, 0)
            assert 0 < window.used < 0.01
            await reach(lambda: details(world).unconfirmed_writes == 0)

    simulate(program)
