import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from kafka_groups.broker.faults import delay
from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.asker import QuestionAsker
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.client.engine import ClientEngine
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import BootstrapError, ClosedError, OperationTimeoutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.unit.records.clusters import TOPIC, RecordsWorld

PLACE, DELAY_MS = TopicPartition(TOPIC, 0), 600


class Client:
    """The least of a client that asks."""

    def __init__(self, environment: Environment, servers: str) -> None:
        assembly = Assembly(admin_config(bootstrap_servers=servers), environment, BackgroundErrors())
        self.asker = QuestionAsker(assembly, 30_000, self._started)
        self.engine = assembly.engine((self.asker.manager,), lambda: None)
        self.is_closed = False

    def _started(self) -> ClientEngine:
        if self.is_closed:
            raise ClosedError("The client was closed.")
        return self.engine


@asynccontextmanager
async def client_of(world: RecordsWorld, servers: str | None = None) -> AsyncIterator[Client]:
    client = Client(world.environment(), servers or world.cluster.bootstrap_servers)
    client.engine.start()
    try:
        yield client
    finally:
        await client.engine.stop()


def simulated(scene: Callable[[RecordsWorld, Client], Awaitable[None]]) -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, client_of(world) as client:
            await world.produce([b"a", b"b"])
            await scene(world, client)

    run_simulated(run, seed=1)


def test_several_callers_are_answered_at_a_time() -> None:
    async def scene(_world: RecordsWorld, client: Client) -> None:
        ask = client.asker.within(5_000)
        answers = await asyncio.gather(*(offsets_at(ask, [PLACE], LATEST) for _ in range(3)))
        assert [each[PLACE] for each in answers] == [2, 2, 2]
        assert len(client.asker.manager) == 0

    simulated(scene)


def test_questions_of_one_deadline_share_it() -> None:
    async def scene(world: RecordsWorld, client: Client) -> None:
        ask = client.asker.within(5_000)
        assert (await offsets_at(ask, [PLACE], LATEST))[PLACE] == 2  # with all connections there
        world.cluster.faults.on(ApiKey.LIST_OFFSETS, delay(DELAY_MS))
        ask = client.asker.within(DELAY_MS + DELAY_MS // 2)
        assert (await offsets_at(ask, [PLACE], LATEST))[PLACE] == 2
        begun_ms = world.simulation.clock.now_ms()
        late = await offsets_at(ask, [PLACE], LATEST)
        assert isinstance(late.errors[PLACE], OperationTimeoutError)
        assert world.simulation.clock.now_ms() - begun_ms <= DELAY_MS // 2

    simulated(scene)


def test_a_caller_that_is_cancelled_is_forgotten() -> None:
    async def scene(world: RecordsWorld, client: Client) -> None:
        world.cluster.faults.on(ApiKey.LIST_OFFSETS, delay(DELAY_MS))
        asking = asyncio.create_task(offsets_at(client.asker.within(5_000), [PLACE], LATEST))
        await asyncio.sleep(DELAY_MS / 2_000)
        assert len(client.asker.manager) == 1
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert len(client.asker.manager) == 0

    simulated(scene)


def test_the_error_of_all_calls_is_raised() -> None:
    async def scene(world: RecordsWorld, client: Client) -> None:
        world.cluster.faults.on(ApiKey.LIST_OFFSETS, delay(DELAY_MS))
        asking = asyncio.create_task(offsets_at(client.asker.within(5_000), [PLACE], LATEST))
        await asyncio.sleep(DELAY_MS / 2_000)
        client.asker.manager.fail(ClosedError("The client was closed."))
        with pytest.raises(ClosedError):
            await asking
        client.is_closed = True
        with pytest.raises(ClosedError):
            await offsets_at(client.asker.within(5_000), [PLACE], LATEST)

    simulated(scene)


def test_brokers_that_have_never_answered_are_the_reason_of_a_timeout() -> None:
    async def scene(world: RecordsWorld, _client: Client) -> None:
        async with client_of(world, "nowhere:9") as other:
            with pytest.raises(BootstrapError, match="No broker has answered for 3000 ms"):
                await offsets_at(other.asker.within(3_000), [PLACE], LATEST)

    simulated(scene)
