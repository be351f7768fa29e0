"""Records go through retry topics and come back, on an embedded cluster in virtual time."""

import asyncio
from itertools import pairwise

from kafka_groups import Attempt, Backoff, OnError, RecordOrigin, Reject, Retry, ShareRecord, current_attempt
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.retry_worlds import PREFIX, RetryStage
from tests.unit.share.workers.worlds import WorkerWorld, has, reach, simulate


class Busy(Exception):  # noqa: N818 - the handler's words
    """The sink of one record."""


def test_attempts_are_counted_over_all_topics_until_the_record_succeeds() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        seen: list[tuple[float, Attempt, ShareRecord[bytes, bytes]]] = []

        @worker.handler(TOPIC, **stage.options())
        async def sell(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
            seen.append((asyncio.get_running_loop().time(), current_attempt(), record))
            waits = {1: 45, 2: 1, 3: 2}
            if (wait_s := waits.get(current_attempt().number)) is not None:
                raise Retry("later", after=wait_s)

        async with world.running(worker):
            await world.produce([b"1"])
            await reach(lambda: has(seen, 4))
            await asyncio.sleep(30)
        assert [attempt.number for _, attempt, _ in seen] == [1, 2, 3, 4]
        first, *others = seen
        assert {attempt.origin for _, attempt, _ in seen} == {RecordOrigin(TOPIC, 0, 0, first[2].timestamp)}
        topics = [record.topic for _, _, record in others]
        assert topics == [f"{PREFIX}.2s", f"{PREFIX}.2s", f"{PREFIX}.2s"]
        waits = [after[0] - before[0] for before, after in pairwise(seen)]
        for wait, least in zip(waits, (45, 1, 2), strict=True):
            assert least - 1e-6 <= wait < least + 0.5, waits
        assert all(record.headers == first[2].headers for _, _, record in others)
        hops = [record.topic for record in stage.letters.forwarded]
        assert hops == [f"{PREFIX}.20s", f"{PREFIX}.20s", f"{PREFIX}.2s", f"{PREFIX}.2s", f"{PREFIX}.2s"]
        assert not stage.letters.written

    simulate(program)


def test_times_counts_over_all_topics_and_the_dead_letter_names_the_first_record() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        calls: list[int] = []

        @worker.handler(
            TOPIC, **stage.options(errors={Busy: Backoff(first=1, most=30, times=4, jitter=0)}, concurrency=1)
        )
        async def sell(value: bytes) -> None:
            calls.append(current_attempt().number)
            raise Busy("no room")

        async with world.running(worker):
            await world.produce([b"0", b"1"])
            await reach(lambda: has(stage.letters.written, 2))
        assert sorted(calls) == sorted([1, 2, 3, 4, 5] * 2)
        headers = [dict(letter.record.headers) for letter in stage.letters.written]
        names = ("topic", "partition", "offset", "attempts")
        found = {tuple(each[f"__dlq.errors.{name}"] for name in names) for each in headers}
        assert found == {(TOPIC.encode(), b"0", b"%d" % offset, b"5") for offset in (0, 1)}
        assert all(not name.startswith("__retry") for each in headers for name in each)

    simulate(program)


def test_records_of_retry_topics_that_keep_failing_do_not_open_the_breaker_while_others_succeed() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()

        @worker.handler(TOPIC, **stage.options(retries=Backoff(first=2, most=4, times=2, jitter=0)))
        async def sell(value: bytes) -> None:
            if value.startswith(b"bad"):
                raise ValueError(value)

        async with world.running(worker) as runtime:
            await world.produce([b"good", *(b"bad%d" % number for number in range(2))])
            await world.produce([b"good", *(b"bad%d" % number for number in range(2, 4)), b"good"])
            for number in range(100):
                await world.produce([b"good%d" % number])
                await asyncio.sleep(0.2)
                assert "breaker" not in "; ".join(runtime.health.reasons)
        assert len(stage.letters.written) == 4

    simulate(program)


def test_a_record_that_is_held_comes_again_and_again_until_it_succeeds() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        calls: list[float] = []

        @worker.handler(TOPIC, **stage.options(errors={Busy: OnError.HOLD}))
        async def sell(value: bytes) -> None:
            calls.append(asyncio.get_running_loop().time())
            if len(calls) < 4:
                raise Busy("no room")

        async with world.running(worker):
            await world.produce([b"1"])
            await reach(lambda: has(calls, 4))
        assert [round(after - before) for before, after in pairwise(calls)] == [20, 20, 20]
        assert [record.topic for record in stage.letters.forwarded] == [f"{PREFIX}.20s"] * 3

    simulate(program)


def test_moved_records_are_counted_as_moved() -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()

        @worker.handler(TOPIC, **stage.options())
        async def sell(value: bytes) -> None:
            if current_attempt().number == 1:
                raise Retry("later", after=2)
            raise Reject("no")

        async with world.running(worker):
            await world.produce([b"1"])
            await reach(lambda: has(stage.letters.written, 1))
            await asyncio.sleep(1)
        records = [each.records for each in world.telemetry.snapshot().values() if each.records]
        assert sorted(map(dict, records), key=str) == [{"moved": 1}, {"rejected": 1}]

    simulate(program)
