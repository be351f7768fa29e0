"""Windows of handler workers against an embedded cluster in virtual time: full ones, and those that others fill."""

import asyncio

import pytest

from kafka_groups.errors import GroupAuthorizationFailedError
from kafka_groups.share import Backoff, OnError
from kafka_groups.share.group import ShareGroupInfo
from kafka_groups.share.group_progress import GroupProgress
from kafka_groups.types import TopicPartition
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, has, reach, simulate


def test_a_full_window_is_reported_and_given_up_if_the_handler_says_so() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs("g", {"share.partition.max.record.locks": "100"})
        seen: list[bytes] = []
        worker = world.worker()

        @worker.handler(
            TOPIC, dead_letters=DEAD, retries=Backoff(first=3600, most=3600), on_blocked=OnError.DEAD_LETTER
        )
        async def handle(value: bytes) -> None:
            if value == b"0":
                raise ValueError("bad")
            seen.append(value)

        for first in range(0, 300, 20):
            await world.produce([b"%d" % n for n in range(first, first + 20)])
        async with world.running(worker) as runtime:
            await reach(lambda: len(seen) >= 80)
            await reach(lambda: len(seen) == 299)
            await reach(lambda: runtime.health.is_ready)
        (letter,) = world.letters.written
        assert letter.value == b"0"
        assert "held back" in letter.reason

    simulate(program)


def test_a_window_that_another_member_fills_counts() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs("g", {"share.partition.max.record.locks": "100"})
        begun: list[bytes] = []
        worker = world.worker()

        @worker.handler(
            TOPIC,
            dead_letters=DEAD,
            concurrency=1,
            buffer=1,
            retries=Backoff(first=3600, most=3600),
            on_blocked=OnError.DEAD_LETTER,
        )
        async def handle(value: bytes) -> None:
            begun.append(value)
            if value == b"stuck":
                raise ValueError("bad")
            await asyncio.sleep(60)

        await world.produce([b"stuck"])
        async with world.running(worker), world.consumer() as other:
            await reach(lambda: begun)
            await world.produce([b"slow"])
            await reach(lambda: has(begun, 2))
            await other.subscribe([TOPIC])
            done = 0
            for _ in range(15):
                await world.produce([b"other"] * 20)
                done += len(await other.poll(timeout=1))
            assert done < 100, "the window is full"
            await reach(lambda: has(world.letters.written, 1), 30)
            while done < 290:
                done += len(await other.poll(timeout=1))
        assert "held back" in world.letters.written[0].reason

    simulate(program)


def test_a_member_counts_its_own_records_if_the_brokers_do_not_tell(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(*_arguments: object) -> dict[TopicPartition, GroupProgress]:
        raise GroupAuthorizationFailedError("not allowed")

    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, retries=Backoff(first=3600, most=3600))
        async def handle(value: bytes) -> None:
            raise ValueError("bad")

        await world.produce([b"stuck"])
        async with world.running(worker) as runtime:
            await reach(lambda: "not allowed" in caplog.text)
            assert runtime.health.is_ready

    monkeypatch.setattr(ShareGroupInfo, "progress", refuse)
    simulate(program)
    assert "the worker counts only its own records" in caplog.text
