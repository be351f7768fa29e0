"""A writer with outcomes in virtual time, on a cluster whose brokers, leaders, topics and answers come and go."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import count

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, LOSE_RESPONSE
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.records.confirmed_writer import ConfirmedWriter, RecordToWrite, WriteOutcome, WriterRoom
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.conditions import until
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

BROKERS = 3
LASTING, PASSING = {TOPIC: 3, "audit": 1}, {"passing": 2}
"""Topics that stay, and one that is deleted and made again, with their numbers of partitions."""
STEPS = 40
PATIENCE_S = 600.0
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 60))]


class OutageRun:
    """Two owners that write while things happen to the cluster. The value of a record is its token."""

    def __init__(self, world: RecordsWorld) -> None:
        self._world = world
        self._cluster = world.cluster
        self._rng = world.simulation.rng
        config = admin_config(bootstrap_servers=world.cluster.bootstrap_servers)
        self.writer = ConfirmedWriter(config, world.environment())
        self._numbers = count()
        self._outcomes: Counter[object] = Counter()
        self._confirmed: list[bytes] = []
        self._owners: dict[bytes, WriterRoom] = {}
        self._topics: dict[bytes, str] = {}
        self._withdrawn: set[bytes] = set()
        self._away: set[int] = set()
        self._rooms = [self.writer.room(name, self._took, self._held) for name in ("one", "other")]
        self._holds: dict[str, bool] = {}

    def _took(self, outcomes: Sequence[WriteOutcome]) -> None:
        for outcome in outcomes:
            self._outcomes.update(outcome.tokens)
            if outcome.error is None:
                self._confirmed += outcome.tokens  # type: ignore[arg-type]

    def _held(self, topic: str, error: object) -> None:
        self._holds[topic] = error is not None

    # ----------------------------------------------------------------------------------------- what happens

    async def write(self) -> None:
        room, topic = self._rng.choice(self._rooms), self._rng.choice([*LASTING, *PASSING])
        for _ in range(self._rng.randrange(1, 30)):
            value = b"%06d" % next(self._numbers)
            self._owners[value], self._topics[value] = room, topic
            room.write([RecordToWrite(topic, self._rng.choice([None, b"k", value]), value)], value)

    async def withdraw(self) -> None:
        for value in self._rng.sample([*self._owners], min(20, len(self._owners))):
            if value not in self._withdrawn and self._owners[value].withdraw(value):
                self._withdrawn.add(value)

    async def move_leader(self) -> None:
        topic = self._rng.choice([*LASTING])
        node_id = self._rng.choice([each for each in range(1, BROKERS + 1) if each not in self._away])
        self._cluster.move_leader(topic, self._rng.randrange(LASTING[topic]), node_id)

    async def lose(self) -> None:
        action = self._rng.choice([DROP_CONNECTION, DROP_RESPONSE, LOSE_RESPONSE])
        self._cluster.faults.on(ApiKey.PRODUCE, action, times=2, when=lambda _request: self._rng.random() < 0.5)

    async def stop_broker(self) -> None:
        if len(self._away) < BROKERS - 1:
            node_id = self._rng.choice([each for each in range(1, BROKERS + 1) if each not in self._away])
            self._away.add(node_id)
            await self._rng.choice([self._cluster.stop_broker_async, self._cluster.kill_broker_async])(node_id)

    async def start_broker(self) -> None:
        for node_id in sorted(self._away):
            await self._cluster.start_broker_async(node_id)
        self._away.clear()

    async def delete_topic(self) -> None:
        for topic in PASSING:
            if self._cluster.metadata.topic(topic) is not None:
                self._cluster.delete_topic(topic)

    async def create_topic(self) -> None:
        for topic, partitions in PASSING.items():
            if self._cluster.metadata.topic(topic) is None:
                self._cluster.create_topic(topic, partitions, configs=KEPT)

    async def run(self) -> None:
        harmless = [self.write, self.write, self.write, self.withdraw, self.start_broker, self.create_topic]
        faulty = [self.move_leader, self.lose, self.stop_broker, self.delete_topic]
        for _ in range(STEPS):
            await self._rng.choice(harmless if self._rng.random() < 0.7 else faulty)()
            await asyncio.sleep(self._rng.choice([0, 0.001, 0.01, 0.3, 5]))
        self._cluster.faults.clear()
        await self.start_broker()
        await self.create_topic()

        async def are_told() -> bool:
            return sum(room.unconfirmed for room in self._rooms) == 0 and not any(self._holds.values())

        await until(are_told, bool, PATIENCE_S)
        self._check()

    # ------------------------------------------------------------------------------------------------ the end

    def _check(self) -> None:
        told = Counter(dict.fromkeys(set(self._owners) - self._withdrawn, 1))
        assert self._outcomes == told, "each write has one outcome, and those that were withdrawn have none"
        for topic, partitions in LASTING.items():
            by_partition = [
                [each.value for each in self._cluster.records(topic) if each.partition == partition]
                for partition in range(partitions)
            ]
            found = [value for values in by_partition for value in values]
            expected = [
                value for value in self._owners if self._topics[value] == topic and value not in self._withdrawn
            ]
            assert sorted(found) == expected, topic  # type: ignore[type-var]
            assert sorted(value for value in self._confirmed if self._topics[value] == topic) == expected
            assert all(sorted(values) == values for values in by_partition), "in order"  # type: ignore[type-var]
        for topic in PASSING:
            values = {each.value for each in self._cluster.records(topic)}
            assert not values & self._withdrawn


@pytest.mark.parametrize("seed", SEEDS)
def test_each_write_is_confirmed_once_and_in_order_whatever_happens(seed: int) -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=LASTING[TOPIC], brokers=BROKERS) as world:
            world.cluster.create_topic("audit", LASTING["audit"], configs=KEPT)
            run = OutageRun(world)
            try:
                await run.run()
            finally:
                await run.writer.close()

    run_simulated(scene, seed=seed)
