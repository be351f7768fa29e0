"""Slots with a mistake of the package itself: the worker stops and says why, instead of losing its slots one by one."""

import asyncio
from typing import cast

import pytest

from kafka_groups.share import Worker
from kafka_groups.share.workers.processes.notes import HandlerNotes
from kafka_groups.share.workers.running.handler_calls import CallContext, HandlerCalls
from kafka_groups.share.workers.running.slots import AnyRun, HandlerSlots, Mailbox, TaskSlots, ThreadSlots
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import WorkerWorld, reach, reasons, simulate


class BrokenNotes:
    """Notes that know no topic."""

    slots = 4

    def began(self, slot: int, run: AnyRun) -> None:
        raise KeyError(TOPIC)

    def ended(self, slot: int) -> None:
        raise AssertionError("nothing began")


NOTES = cast(HandlerNotes, BrokenNotes())


def ignore(value: bytes) -> None: ...


async def ignore_soon(value: bytes) -> None: ...


def slots_of(*, is_async: bool) -> HandlerSlots:
    worker = Worker("g", bootstrap_servers="localhost:9092")
    worker.handler(TOPIC)(ignore_soon if is_async else ignore)
    calls = HandlerCalls(worker.handlers[0], CallContext("g", "client", ()))
    if is_async:
        return TaskSlots(asyncio.get_running_loop(), calls, NOTES)
    return ThreadSlots("w", 2, calls, NOTES)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_mistake_reaches_the_driver_and_the_slot_takes_the_next_run(is_async: bool) -> None:
    woken = asyncio.Event()
    mailbox, slots = Mailbox(asyncio.get_running_loop(), woken.set), slots_of(is_async=is_async)
    slots.use()
    for _ in range(3):
        woken.clear()
        slots.submit(AnyRun([]), mailbox)
        await asyncio.wait_for(woken.wait(), 10)
        with pytest.raises(KeyError, match=TOPIC):
            mailbox.take()
    assert mailbox.take() is None
    slots.close()


def test_the_worker_stops_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        worker.handler(TOPIC)(ignore_soon)
        await world.produce([b"1"])
        runtime = world.runtime(worker, notes=lambda spec: NOTES)
        await runtime.start()
        await reach(lambda: not runtime.health.is_live)
        assert "KeyError" in reasons(runtime)
        with pytest.raises(KeyError, match=TOPIC):
            await runtime.wait()

    simulate(program)
    assert any("the worker stops because of an error" in text for text in caplog.messages)
