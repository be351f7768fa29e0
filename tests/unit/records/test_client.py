from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.partition_offsets import offsets_at
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import BootstrapError, ClosedError, IllegalStateError, UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.list_offsets import LATEST
from kafka_groups.records.client import RecordsClient
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.unit.records.clusters import TOPIC, RecordsWorld


class Asker:
    """A manager that asks once for a coordinator."""

    def __init__(self) -> None:
        self.asked = False
        self.answer: object = None

    def poll(self, now_ms: int) -> PollResult:
        if self.asked:
            return PollResult()
        self.asked = True
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=("g",))
        return PollResult((OutgoingRequest(ApiKey.FIND_COORDINATOR, lambda _version: request, None, 1_000),))

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        self.answer = answer.message

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        raise AssertionError(error)


@asynccontextmanager
async def client_of(world: RecordsWorld) -> AsyncIterator[RecordsClient]:
    client = world.client()
    try:
        yield client
    finally:
        await client.close()


def test_metadata_of_wanted_topics_comes_and_managers_are_asked() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, client_of(world) as client:
            asker = Asker()
            client.add(asker)
            client.want_topics([TOPIC], "reader")
            client.want_topics(["missing"], "writer")
            begun_ms = client.clock.now_ms()
            await client.wait(10_000, lambda: asker.answer is not None and client.metadata.version > 0)
            assert client.metadata.name_of(world.topic.topic_id) == TOPIC
            assert client.missing_topics == {"missing"}
            assert client.clock.now_ms() - begun_ms < 10_000
            client.want_topics([], "writer")
            await client.wait(10_000, lambda: not client.missing_topics)
            with pytest.raises(IllegalStateError, match="has been started"):
                client.add(Asker())

    run_simulated(scene, seed=1)


def test_topics_that_are_wanted_already_cost_no_request() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, client_of(world) as client:
            seen = world.requests(ApiKey.METADATA)
            client.want_topics([TOPIC], "reader")
            await client.wait(10_000, lambda: client.metadata.version > 0)
            client.want_topics([TOPIC], "writer")
            await client.wait(1_000, lambda: False)
            assert len(seen) == 1
            client.refresh_metadata()
            await client.wait(1_000, lambda: False)
            assert len(seen) == 2

    run_simulated(scene, seed=1)


def test_a_wait_ends_when_the_time_is_up() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, client_of(world) as client:
            begun_ms = client.clock.now_ms()
            await client.wait(250, lambda: False)
            assert client.clock.now_ms() - begun_ms == 250

    run_simulated(scene, seed=1)


def test_questions_are_answered() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, client_of(world) as client:
            await world.produce([b"a", b"b"])
            place = TopicPartition(TOPIC, 0)
            assert (await offsets_at(client.within(5_000), [place], LATEST))[place] == 2

    run_simulated(scene, seed=1)


def test_a_fatal_error_ends_waits_and_questions() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, client_of(world) as client:
            fatal = UnsupportedVersionError("too old")
            client.errors.report_fatal(fatal)
            begun_ms = client.clock.now_ms()
            await client.wait(10_000, lambda: False)
            assert client.clock.now_ms() == begun_ms
            with pytest.raises(UnsupportedVersionError, match="too old"):
                await offsets_at(client.within(5_000), [TopicPartition(TOPIC, 0)], LATEST)

    run_simulated(scene, seed=1)


def test_without_brokers_a_question_says_so() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world:
            environment = Environment(world.network, simulation.clock, simulation.rng)
            client = RecordsClient(admin_config(bootstrap_servers="nowhere:9"), environment)
            with pytest.raises(BootstrapError, match="No broker has answered for 3000 ms"):
                await offsets_at(client.within(3_000), [TopicPartition(TOPIC, 0)], LATEST)
            await client.close()

    run_simulated(scene, seed=1)


def test_a_closed_client_does_nothing() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world:
            client = world.client()
            await client.close()
            with pytest.raises(ClosedError, match="was closed"):
                client.turn()

    run_simulated(scene, seed=1)
