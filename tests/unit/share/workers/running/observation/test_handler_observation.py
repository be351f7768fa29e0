"""Observations of a handler in a worker that runs: its rate, its fullest window, its writes and its last failure."""

import asyncio
from collections.abc import Sequence

from kafka_groups import Backoff, Batch, OnError, Retry
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.status import worker_status
from kafka_groups.telemetry.handler_details import HandlerDetails
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.retry_worlds import PREFIX, RetryStage
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


def test_records_of_retry_topics_wait_and_are_due_in_the_status_of_their_handler() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        is_free, failed = asyncio.Event(), set[bytes]()

        @worker.handler(TOPIC, concurrency=1, **stage.options())
        async def sell(value: bytes) -> None:
            if value == b"blocks":
                await is_free.wait()
            elif value not in failed:
                failed.add(value)
                raise Retry("later", after=2)

        def topics() -> Sequence[tuple[str, int, int]]:
            (handler,) = worker_status(worker.handlers, world.telemetry, Health(), 0).handlers
            return [(each.topic, each.waiting, each.due) for each in handler.retry_topics]

        async with world.running(worker):
            await world.produce([b"fails", b"blocks"])
            await reach(lambda: topics() == [(f"{PREFIX}.2s", 1, 0), (f"{PREFIX}.20s", 0, 0)])
            await reach(lambda: topics() == [(f"{PREFIX}.2s", 0, 1), (f"{PREFIX}.20s", 0, 0)])
            is_free.set()
            await reach(lambda: topics() == [(f"{PREFIX}.2s", 0, 0), (f"{PREFIX}.20s", 0, 0)])
            found = worker_status(worker.handlers, world.telemetry, Health(), 0).handlers[0].last_error
            assert found is not None
            assert (found.error_type, found.count, found.topic, found.offset) == ("Retry", 1, TOPIC, 0)

    simulate(program)
