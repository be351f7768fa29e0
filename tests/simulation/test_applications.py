"""The test kit finds bugs: applications that lose or double records are caught, and right ones pass."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.testing import SimulatedWorld, SimulationFailedError, simulate
from tests.docs.blocks import programs

pytestmark = pytest.mark.simulation

_SEEDS = range(4)

Sink = dict[bytes | None, int]
Application = Callable[[SimulatedWorld, Sink], Coroutine[Any, Any, None]]


def store(world: SimulatedWorld, sink: Sink, value: bytes | None) -> None:
    """A sink that is down now and then."""
    if world.strikes("sink down", 0.05):
        raise ConnectionError("the sink is down")
    sink[value] = 1


async def stores_then_accepts(world: SimulatedWorld, sink: Sink) -> None:
    """The next record accepts the one before."""
    async with world.consumer(group_id="g") as consumer:
        await consumer.subscribe(["t"])
        async for record in consumer:
            await asyncio.sleep(0.1)
            sink[record.value] = 1


async def stores_batches_then_accepts(world: SimulatedWorld, sink: Sink) -> None:
    async with world.consumer(group_id="g", acknowledgement_mode="explicit") as consumer:
        await consumer.subscribe(["t"])
        while True:
            batch = await consumer.poll(timeout=5)
            await asyncio.sleep(0.5)
            sink.update((record.value, 1) for record in batch)
            consumer.acknowledge_all(batch)
            await consumer.commit()


async def accepts_then_stores(world: SimulatedWorld, sink: Sink) -> None:
    """Wrong: what was accepted is lost if the process dies before it is stored."""
    async with world.consumer(group_id="g", acknowledgement_mode="explicit") as consumer:
        await consumer.subscribe(["t"])
        while True:
            batch = await consumer.poll(timeout=5)
            consumer.acknowledge_all(batch)
            await consumer.commit()
            await asyncio.sleep(1)
            sink.update((record.value, 1) for record in batch)


async def buffers_until_it_is_stopped(world: SimulatedWorld, sink: Sink) -> None:
    """Wrong, although nothing is lost as long as the process is not killed."""
    buffer: Sink = {}
    async with world.consumer(group_id="g") as consumer:
        await consumer.subscribe(["t"])
        try:
            async for record in consumer:
                buffer[record.value] = 1
                if len(buffer) >= 5 or not world.is_faulty:
                    sink.update(buffer)
                    buffer.clear()
        finally:
            sink.update(buffer)


async def accepts_what_its_sink_refused(world: SimulatedWorld, sink: Sink) -> None:
    """Wrong: it ignores an error."""
    async with world.consumer(group_id="g") as consumer:
        await consumer.subscribe(["t"])
        async for record in consumer:
            with suppress(ConnectionError):
                store(world, sink, record.value)


async def counts_deliveries(world: SimulatedWorld, sink: Sink) -> None:
    """Wrong: a record may be delivered more than once."""
    async with world.consumer(group_id="g") as consumer:
        await consumer.subscribe(["t"])
        async for record in consumer:
            await asyncio.sleep(0.5)
            sink[record.value] = sink.get(record.value, 0) + 1


async def gives_up_after_an_error(world: SimulatedWorld, sink: Sink) -> None:
    """Wrong: nobody starts it again, because its process ends well."""
    with suppress(ConnectionError):
        async with world.consumer(group_id="g") as consumer:
            await consumer.subscribe(["t"])
            async for record in consumer:
                store(world, sink, record.value)


RIGHT: tuple[Application, ...] = (stores_then_accepts, stores_batches_then_accepts)
WRONG: tuple[Application, ...] = (
    accepts_then_stores,
    buffers_until_it_is_stopped,
    accepts_what_its_sink_refused,
    counts_deliveries,
    gives_up_after_an_error,
)


def run(application: Application, seed: int) -> None:
    async def program(world: SimulatedWorld) -> None:
        world.cluster.create_topic("t", partitions=3)
        world.cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        sink: Sink = {}
        for _ in range(3):
            world.start(application, world, sink, restart_on=KafkaGroupsError)
        values: list[bytes] = []
        while world.is_faulty:
            values.append(str(len(values)).encode())
            await world.produce("t", values[-1:], partition=len(values) % 3)
            await asyncio.sleep(world.rng.uniform(0, 5))
        await world.settle()
        assert sink == dict.fromkeys(values, 1)

    simulate(program, seed)


@pytest.mark.parametrize("seed", [_SEEDS[0], *(pytest.param(seed, marks=pytest.mark.long) for seed in _SEEDS[1:])])
@pytest.mark.parametrize("application", RIGHT)
def test_a_right_application_passes(application: Application, seed: int) -> None:
    run(application, seed)


@pytest.mark.parametrize(
    "application", [WRONG[0], *(pytest.param(application, marks=pytest.mark.slow) for application in WRONG[1:])]
)
def test_a_wrong_application_is_caught(application: Application) -> None:
    assert any(is_caught(application, seed) for seed in _SEEDS)


def is_caught(application: Application, seed: int) -> bool:
    try:
        run(application, seed)
    except (AssertionError, SimulationFailedError):
        return True
    return False


def test_the_wrong_application_of_the_documentation_is_caught(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "kafka_groups")  # as the code sets it, and for this test alone
    right, _, wrong, *_ = (program.code for program in programs() if program.page.name == "simulate.md")
    names: dict[str, Any] = {}
    for code in (right.partition("for seed in")[0], wrong):
        exec(code, names)
    names["store_orders"] = names["store_in_batches"]

    with pytest.raises(AssertionError, match="lost: ") as caught:
        simulate(names["no_order_is_lost"], 0)
    assert caught.value.__notes__[-1] == "run it again: simulate(no_order_is_lost, seed=0)"
