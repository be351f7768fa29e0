"""Handlers with a rate limit on an embedded cluster in virtual time: no more than the rate, and no less."""

import asyncio

from kafka_groups.share import Backoff, Batch, RateLimit
from kafka_groups.share.workers.rate_limits import rate_rule
from kafka_groups.telemetry.workers import WorkerTelemetry
from tests.support.workers.naive_rate import NaiveRate
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import WorkerWorld, reach, reasons, simulate


def now_ms() -> int:
    return round(1000 * asyncio.get_running_loop().time())


def limited_s(telemetry: WorkerTelemetry) -> float:
    """The seconds in which the handlers were limited."""
    return sum(each.rate_limited_seconds for each in telemetry.snapshot().values())


def check(limit: RateLimit, starts: list[tuple[int, int]], processes: int = 1) -> None:
    """Check that the rate holds in every time."""
    naive = NaiveRate(rate_rule(limit, processes))
    for at_ms, attempts in starts:
        naive.start(attempts, at_ms)


def test_attempts_start_at_the_rate_also_retries() -> None:
    limit = RateLimit(10, burst=3)

    async def program(world: WorkerWorld) -> None:
        worker, starts, failed = world.worker(), list[tuple[int, int]](), set[bytes]()

        @worker.handler(TOPIC, rate_limit=limit, retries=Backoff(first=1, most=1))
        async def handle(value: bytes) -> None:
            starts.append((now_ms(), 1))
            await asyncio.sleep(0.25)
            if value.endswith(b"5") and value not in failed:
                failed.add(value)
                raise LookupError(value)

        await world.produce([b"%d" % number for number in range(60)])
        async with world.running(worker) as runtime:
            await reach(lambda: len(starts) == 30)
            assert runtime.health.is_ready, reasons(runtime)
            held = world.telemetry.snapshot()["handle"].records_in_hand
            assert sum(held.values()) <= 20, "others get what could not start within a second"
            await reach(lambda: len(starts) == 66)
        check(limit, starts)
        taken_ms = starts[59][0] - starts[0][0]  # the last ones wait for their retries
        assert taken_ms <= 5_800, "the rate is not used"
        assert 5 < limited_s(world.telemetry) <= 7

    simulate(program)


def test_each_process_has_its_part_of_the_rate() -> None:
    limit = RateLimit(10, burst=4)

    async def program(world: WorkerWorld) -> None:
        worker, starts = world.worker(), list[tuple[int, int]]()

        @worker.handler(TOPIC, rate_limit=limit)
        async def handle(value: bytes) -> None:
            starts.append((now_ms(), 1))

        await world.produce([b""] * 20)
        async with world.running(worker, processes=4):
            await reach(lambda: len(starts) == 20)
        check(limit, starts, processes=4)
        assert 7_000 <= starts[-1][0] - starts[0][0] <= 8_000

    simulate(program)


def test_batches_take_a_token_for_each_record() -> None:
    limit = RateLimit(10, burst=20)

    async def program(world: WorkerWorld) -> None:
        worker, starts = world.worker(), list[tuple[int, int]]()

        @worker.batch_handler(TOPIC, rate_limit=limit, max_wait=0.5)
        async def handle(batch: Batch[bytes]) -> None:
            starts.append((now_ms(), len(batch)))

        await world.produce([b""] * 100)
        async with world.running(worker):
            await reach(lambda: sum(records for _, records in starts) == 100)
        check(limit, starts)
        assert starts[-1][0] - starts[0][0] <= 9_500
        assert max(records for _, records in starts) == 20

    simulate(program)


def test_a_stop_releases_what_could_not_start_and_others_get_it() -> None:
    async def program(world: WorkerWorld) -> None:
        worker, seen = world.worker(), list[bytes]()

        @worker.handler(TOPIC, rate_limit=RateLimit(1, per=3_600, burst=2), buffer=10)
        async def handle(value: bytes) -> None:
            seen.append(value)

        await world.produce([b"%d" % number for number in range(5)])
        async with world.running(worker, grace_s=600) as runtime:
            await reach(lambda: len(seen) == 2)
            await reach(lambda: limited_s(world.telemetry) > 3)
            assert runtime.health.is_ready, reasons(runtime)
            begun_ms = now_ms()
        assert now_ms() - begun_ms < 5_000, "the stop waits for what cannot start"
        other = world.worker()

        @other.handler(TOPIC)
        async def handle_all(value: bytes) -> None:
            seen.append(value)

        async with world.running(other):
            await reach(lambda: len(seen) == 5)
        assert sorted(seen) == [b"%d" % number for number in range(5)]

    simulate(program)
