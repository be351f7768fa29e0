"""The plane on the embedded cluster, in memory and in virtual time."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from attrs import evolve

from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import LeaderNotAvailableError, UnknownTopicOrPartitionError
from kafka_groups.records.engine_plane import EnginePlane, EnginePlaneConfig
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

SOURCE, CHANGELOG, SINK = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1), TopicPartition("sink", 0)
PATIENCE_MS = 60_000
GROUP = GroupMetadata("group", NOBODY)


def config_of(world: RecordsWorld, **producer: object) -> EnginePlaneConfig:
    return EnginePlaneConfig(
        connection=admin_config(bootstrap_servers=world.cluster.bootstrap_servers),
        sources=ReaderConfig(),
        restorer=ReaderConfig(isolation_level="read_committed"),
        producer=ProducerConfig(**producer),  # type: ignore[arg-type]
    )


@asynccontextmanager
async def plane_of(
    world: RecordsWorld, transactional_id: str | None = None, **producer: object
) -> AsyncIterator[EnginePlane]:
    world.cluster.create_topic("sink", 1, configs=KEPT)

    def counts() -> Mapping[str, int]:
        found = (world.cluster.metadata.topic(name) for name in (TOPIC, "sink"))
        return {topic.name: topic.num_partitions for topic in found if topic is not None}

    config = evolve(config_of(world, **producer), transactional_id=transactional_id)
    plane = EnginePlane(config, world.environment(), counts)
    try:
        yield plane
    finally:
        await plane.close()


def simulated(scene: Callable[[RecordsWorld, EnginePlane], Awaitable[None]], **given: Any) -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=2) as world, plane_of(world, **given) as plane:
            await scene(world, plane)

    run_simulated(run, seed=1)


def written(world: RecordsWorld) -> list[bytes | None]:
    return [each.value for each in world.cluster.records("sink")]


async def read_sources(plane: EnginePlane, count: int) -> list[bytes | None]:
    """Poll until so many records of sources have come. A source that was made again is read from its begin."""
    found: list[bytes | None] = []
    while len(found) < count:
        await plane.wait(PATIENCE_MS)
        with suppress(UnknownTopicOrPartitionError, LeaderNotAvailableError):
            polled = await plane.poll(100)
            found += [row[2] for batch in polled.batches.values() for row in batch.rows()]
            await plane.assign(dict.fromkeys(polled.changes, 0))
    return found
