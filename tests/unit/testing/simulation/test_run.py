"""Applications in a simulated world: what strikes them, how a run ends, and how it is repeated."""

import asyncio
import gc
import os
import random
import subprocess
import sys
import weakref
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from kafka_groups import AcknowledgeType
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.writer import EngineWriter
from kafka_groups.share import AsyncKafkaShareConsumer
from kafka_groups.testing import (
    SeededFaults,
    SimulatedWorld,
    SimulationFailedError,
    SimulationReport,
    simulate,
)
from kafka_groups.testing.simulation.lifetimes import end_lifetimes

ROOT = Path(__file__).parents[4]
NO_FAULTS = SeededFaults.only(seconds=20)


async def handle(world: SimulatedWorld, handled: list[bytes | None]) -> None:
    """A right consumer: it handles each record before it accepts it."""
    async with world.consumer(group_id="invoices", acknowledgement_mode="explicit") as consumer:
        await consumer.subscribe(["orders"])
        while True:
            for record in await consumer.poll(timeout=5):
                handled.append(record.value)
                consumer.acknowledge(record)
            await consumer.commit()


def orders(world: SimulatedWorld, **configs: str) -> None:
    world.cluster.create_topic("orders", partitions=2)
    world.cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest", **configs})


async def shop(world: SimulatedWorld) -> None:
    """Three right consumers and twenty orders."""
    orders(world)
    handled: list[bytes | None] = []
    for _ in range(3):
        world.start(handle, world, handled, restart_on=KafkaGroupsError)
    for number in range(20):
        await world.produce("orders", [str(number)])
        await asyncio.sleep(world.rng.uniform(0, 5))
    await world.settle()
    assert set(handled) == {str(number).encode() for number in range(20)}


def test_a_run_without_faults_is_calm() -> None:
    report = simulate(shop, 1, faults=NO_FAULTS)
    assert (report.seed, report.violations, dict(report.faults)) == (1, (), {})
    assert (report.produced, report.accepted) == (20, 20)
    assert 20 < report.virtual_s < 120


@pytest.mark.slow
def test_a_seed_makes_the_same_run_also_in_another_process_and_another_seed_does_not() -> None:
    digest = simulate(shop, 1, faults=SeededFaults(seconds=60)).digest
    program = (
        "from tests.unit.testing.simulation.test_run import *\n"
        "print(simulate(shop, 1, faults=SeededFaults(seconds=60)).digest)"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest
    assert simulate(shop, 2, faults=SeededFaults(seconds=60)).digest != digest


_ALONE = ("process_killed", "leader_moved")
_ALONE_TOO = ("process_stopped", "process_stalled", "broker_killed", "slow_broker")


@pytest.mark.parametrize("name", [*_ALONE, *(pytest.param(name, marks=pytest.mark.slow) for name in _ALONE_TOO)])
def test_a_fault_can_strike_alone(name: str) -> None:
    report = simulate(shop, 1, faults=SeededFaults.only(seconds=120, **{name: 3}))
    assert set(report.faults) == {name}


def test_truncated_logs_lose_records_that_no_share_group_reads() -> None:
    async def program(world: SimulatedWorld) -> None:
        orders(world)
        world.cluster.create_topic("others", partitions=2)
        world.start(handle, world, [], restart_on=KafkaGroupsError)
        while world.is_faulty:
            for topic in ("orders", "others"):
                produced[topic] += len(await world.produce(topic, ["a", "b"]))
            await asyncio.sleep(5)
        await world.settle()
        left.update({topic: len(world.cluster.records(topic)) for topic in ("orders", "others")})

    produced, left = Counter[str](), Counter[str]()
    report = simulate(program, 1, faults=SeededFaults.only(seconds=120, log_truncated=5))
    assert set(report.faults) == {"log_truncated"}
    assert left["orders"] == produced["orders"] == produced["others"] > left["others"] > 0


def test_forgotten_producers_begin_anew() -> None:
    async def program(world: SimulatedWorld) -> None:
        topic = world.cluster.create_topic("others")
        client = RecordsClient(admin_config(bootstrap_servers=world.cluster.bootstrap_servers), world.environment())
        writer = EngineWriter(client, lambda _topic: 1, random.Random(1))
        while world.is_faulty:
            writer.write("others", None, b"a", 0, (), 0)
            await writer.flush(10_000)
            await asyncio.sleep(1)
            known.append(len(world.cluster.logs.get(topic.topic_id, 0).producers))
        await client.close()

    known: list[int] = []
    report = simulate(program, 1, faults=SeededFaults.only(seconds=120, producers_forgotten=5))
    assert set(report.faults) == {"producers_forgotten"}
    assert set(known) == {0, 1}


def test_events_are_written_if_wanted() -> None:
    lines: list[str] = []

    async def program(world: SimulatedWorld) -> None:
        world.note("my event", 42)

    simulate(program, 1, faults=NO_FAULTS, write_event=lines.append)
    assert [line for line in lines if "my event" in line] == ["1000.0 ('my event', 42)\n"]


def test_an_error_of_the_program_says_how_to_run_it_again() -> None:
    async def wrong(_world: SimulatedWorld, expected: int) -> None:
        await asyncio.sleep(60)
        assert expected == 2

    with pytest.raises(AssertionError) as caught:
        simulate(partial(wrong, expected=1), 7, faults=SeededFaults(broker_killed=0))
    struck, seed, again = caught.value.__notes__
    assert struck.startswith("faults that struck: {'")
    assert seed == "simulation seed 7, 60.000 virtual seconds after the start"
    assert again.startswith("run it again: simulate(")
    assert again.endswith("wrong, seed=7, faults=SeededFaults(broker_killed=0))")


def test_an_error_of_a_process_ends_the_run() -> None:
    async def fails(world: SimulatedWorld) -> None:
        await asyncio.sleep(1)
        raise KeyError("customer")

    async def program(world: SimulatedWorld) -> None:
        world.start(fails, world)
        await asyncio.sleep(1000)

    with pytest.raises(KeyError, match="customer") as caught:
        simulate(program, 1, faults=NO_FAULTS)
    assert caught.value.__notes__[0] == "it ended the process fails-1"
    assert "1.000 virtual seconds" in caught.value.__notes__[2]


def test_an_error_that_the_supervisor_expects_starts_the_process_again() -> None:
    starts: list[int] = []

    async def fails_twice(world: SimulatedWorld) -> None:
        starts.append(world.clock.now_ms())
        if len(starts) < 3:
            raise ConnectionError

    async def program(world: SimulatedWorld) -> None:
        process = world.start(fails_twice, world, name="worker", restart_on=(ConnectionError, KeyError))
        await asyncio.sleep(10)
        assert process.name == "worker"
        assert not process.is_running

    report = simulate(program, 1, faults=NO_FAULTS)
    assert [start - starts[0] for start in starts] == [0, 1000, 2000]
    assert dict(report.faults) == {"process_failed": 2}


def test_records_that_nobody_finishes_are_violations() -> None:
    async def program(world: SimulatedWorld) -> None:
        orders(world)

        async def releases() -> None:
            async with world.consumer(group_id="invoices", acknowledgement_mode="explicit") as consumer:
                await consumer.subscribe(["orders"])
                for record in await consumer.poll(timeout=20):
                    consumer.acknowledge(record, AcknowledgeType.RELEASE)

        world.start(releases)
        await world.produce("orders", ["1", "2"], partition=1)

    with pytest.raises(SimulationFailedError) as caught:
        simulate(program, 3, faults=NO_FAULTS)
    assert str(caught.value) == (
        "2 violations with seed 3:\n"
        "  orders-1@0: not accepted, rejected or at its delivery limit: 1 delivery\n"
        "  orders-1@1: not accepted, rejected or at its delivery limit: 1 delivery"
    )
    assert isinstance(caught.value.report, SimulationReport)


def test_violations_of_the_program_count_too() -> None:
    async def program(world: SimulatedWorld) -> None:
        world.violations.append("a customer was billed twice")

    with pytest.raises(SimulationFailedError, match="billed twice"):
        simulate(program, 1, faults=NO_FAULTS)


def test_what_a_group_that_starts_at_the_latest_records_never_saw_is_not_expected() -> None:
    async def program(world: SimulatedWorld) -> None:
        world.cluster.create_topic("orders")
        await world.produce("orders", ["before"])
        handled: list[bytes | None] = []
        world.start(handle, world, handled)
        await asyncio.sleep(30)
        await world.produce("orders", ["after"])
        await world.settle(within_s=30)
        assert handled == [b"after"]

    assert simulate(program, 1, faults=NO_FAULTS).accepted == 1


def test_the_functions_of_random_are_seeded_for_the_run() -> None:
    def drawn(seed: int) -> list[float]:
        numbers: list[float] = []

        async def program(_world: SimulatedWorld) -> None:
            numbers.extend(random.Random(random.getrandbits(64)).random() for _ in range(3))

        simulate(program, seed, faults=NO_FAULTS)
        return numbers

    state = random.getstate()
    assert drawn(1) == drawn(1) != drawn(2)
    assert random.getstate() == state


def test_faults_of_the_application_strike_until_the_faults_end() -> None:
    struck: list[bool] = []

    async def program(world: SimulatedWorld) -> None:
        while world.is_faulty:
            struck.append(world.strikes("sink down", 0.5))
            await asyncio.sleep(1)
        assert not world.strikes("sink down", 1.0)

    report = simulate(program, 1, faults=NO_FAULTS)
    assert dict(report.faults) == {"sink down": sum(struck)}
    assert 0 < sum(struck) < len(struck)


def test_producing_waits_for_leaders() -> None:
    async def program(world: SimulatedWorld) -> None:
        orders(world)
        leader = world.cluster.leader_of("orders", 1)
        await world.cluster.kill_broker_async(leader, 5_000)
        asyncio.get_running_loop().call_later(
            2, lambda: asyncio.ensure_future(world.cluster.start_broker_async(leader))
        )
        begun_ms = world.clock.now_ms()
        places = await world.produce("orders", ["1", "2"])
        assert [place.partition for place in places] == [0, 1]
        assert 2000 <= world.clock.now_ms() - begun_ms < 3000
        with pytest.raises(LookupError, match="create_topic"):
            await world.produce("bills", ["1"])

    simulate(program, 1, faults=NO_FAULTS)


@pytest.mark.slow
def test_a_program_that_never_ends_hits_the_limit() -> None:
    async def program(world: SimulatedWorld) -> None:
        orders(world)
        world.start(handle, world, [])
        await asyncio.sleep(2 * 3600)

    with pytest.raises(KafkaGroupsError, match="the virtual time is used up"):
        simulate(program, 1, faults=NO_FAULTS)


class Shop:
    """An application that keeps its consumer."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.consumer: AsyncKafkaShareConsumer = world.consumer(group_id="invoices")

    async def work(self) -> None:
        await self.consumer.subscribe(["orders"])
        while True:
            await self.consumer.poll(timeout=5)


def test_nothing_is_kept_of_a_run_whose_processes_were_killed() -> None:
    consumers: list[weakref.ref[AsyncKafkaShareConsumer]] = []

    async def program(world: SimulatedWorld) -> None:
        orders(world)
        shops = [Shop(world)]
        consumers.append(weakref.ref(shops[0].consumer))
        process = world.start(shops[0].work)
        await asyncio.sleep(10)
        process.kill()

    simulate(program, 1, faults=NO_FAULTS)
    end_lifetimes()
    gc.collect()
    assert [consumer() for consumer in consumers] == [None]
