"""Handler workers in virtual time, with functions and errors of users that fail in odd ways."""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share import Backoff, OnError, Reject
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, has, reach, reasons, simulate, values_left

QUICK = Backoff(first=0.1, most=1.0, times=3)
KEYS: dict[bytes, Any] = {b"ann": "ann", b"bob": "bob", b"list": []}


def test_a_record_without_a_key_for_its_order_becomes_a_dead_letter() -> None:
    async def program(world: WorkerWorld) -> None:
        seen: list[bytes] = []
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD, order_by=lambda record: KEYS[record.value or b""])
        async def handle(value: bytes) -> None:
            seen.append(value)

        await world.produce([b"ann", b"nobody", b"list", b"bob"])
        async with world.running(worker) as runtime:
            await reach(lambda: has(world.letters.written, 2) and has(seen, 2))
            await reach(lambda: runtime.health.is_ready)
        assert seen == [b"ann", b"bob"]
        assert [(letter.value, letter.reason) for letter in world.letters.written] == [
            (b"nobody", "order_by has no key for the record: KeyError: b'nobody'"),
            (b"list", "order_by has no key for the record: TypeError: unhashable type: 'list'"),
        ]
        assert await values_left(world) == []

    simulate(program)


def test_a_record_without_a_key_for_its_order_is_held_and_asked_for_again() -> None:
    async def program(world: WorkerWorld) -> None:
        seen: list[bytes] = []
        keys: dict[bytes | None, str] = {b"1": "ann"}
        worker = world.worker()

        @worker.handler(TOPIC, order_by=lambda record: keys[record.value])
        async def handle(value: bytes) -> None:
            seen.append(value)

        await world.produce([b"1", b"2"])
        async with world.running(worker) as runtime:
            await reach(lambda: seen)
            await asyncio.sleep(100)
            assert seen == [b"1"]
            assert runtime.health.is_ready
            keys[b"2"] = "bob"
            await reach(lambda: has(seen, 2))
            await world.produce([b"3"])
            await asyncio.sleep(1)
        assert await values_left(world) == [b"3"], "it is released at the end"

    simulate(program)


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_without_a_text_is_an_error_like_others() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD, retries=QUICK, errors={LookupError: OnError.REJECT})
        async def handle(value: bytes) -> None:
            raise WithoutTextError

        await world.produce([b"1"])
        async with world.running(worker) as runtime:
            await reach(lambda: world.letters.written)
            await reach(lambda: runtime.health.is_ready)
        assert world.letters.written[0].reason.startswith("WithoutTextError: its text cannot be shown")

    simulate(program)


def test_dead_letters_that_are_refused_for_good_are_tried_again_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, dead_letters=DEAD)
        async def handle(value: bytes) -> None:
            raise Reject("no")

        write, tries = world.letters.write, count()

        async def failing(letters: Sequence[RecordToWrite]) -> DeliveryFailedError | None:
            if next(tries) < 3:
                return DeliveryFailedError("a header of the record is no text", failed=1, unanswered=0)
            return await write(letters)

        world.letters.write = failing  # type: ignore[method-assign]
        await world.produce([b"1"])
        async with world.running(worker) as runtime:
            await reach(lambda: "is no text" in reasons(runtime))
            await reach(lambda: world.letters.written)
            await reach(lambda: runtime.health.is_ready)
        assert await values_left(world) == []

    simulate(program)
    assert f"cannot write to {DEAD}" in caplog.text
