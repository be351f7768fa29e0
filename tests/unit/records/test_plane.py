import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from attrs import frozen

from kafka_groups.errors import ClosedError
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.interface import PolledRecords
from kafka_groups.records.plane import RestoringPlane
from kafka_groups.records.reader import RecordReader
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.support.fake_kafka import FakeKafka, FakePlane
from tests.unit.records.clusters import TOPIC, RecordsWorld

CHANGELOG, SOURCE = TopicPartition(TOPIC, 0), TopicPartition("source", 0)


class WaitingPlane(FakePlane):
    """Another plane that notes how long it was to wait."""

    def __init__(self, kafka: FakeKafka) -> None:
        super().__init__(kafka)
        self.waits: list[int] = []

    async def wait(self, timeout_ms: int) -> None:
        self.waits.append(timeout_ms)


@frozen
class Planes:
    """A plane that restores on our own engine, and the other one that it has."""

    plane: RestoringPlane
    other: WaitingPlane
    kafka: FakeKafka


@asynccontextmanager
async def planes_of(world: RecordsWorld) -> AsyncIterator[Planes]:
    client = world.client()
    kafka = FakeKafka({"source": 1, "sink": 1})
    other = WaitingPlane(kafka)
    planes = Planes(RestoringPlane(other, client, RecordReader(client, FetchOptions(), "restore")), other, kafka)
    yield planes
    await planes.plane.close()
    assert other.is_closed
    with pytest.raises(ClosedError):
        client.turn()


async def restored(plane: RestoringPlane, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        await plane.wait(1_000)
        polled: PolledRecords = await plane.poll_restoring(100)
        found += [row[2] for batch in polled.batches.values() for row in batch.rows()]
    return found


def test_changelogs_come_from_the_reader_and_the_rest_from_the_other_plane() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, planes_of(world) as planes:
            plane = planes.plane
            assert not await plane.poll_restoring(10)
            await world.produce([b"a", b"b"])
            planes.kafka.produce("source", "k", "v")
            await plane.assign_restoring({CHANGELOG: 0})
            await plane.assign({SOURCE: 0})
            assert await restored(plane, 2) == [b"a", b"b"]
            assert [row[2] for row in (await plane.poll(10)).batches[SOURCE].rows()] == [b"v"]
            plane.write("sink", b"k", b"out", 0, (), 0)
            plane.write_tracked("sink", b"k", b"change", 0, (), 0)
            await plane.flush(1_000)
            assert [entry.value for entry in planes.kafka.values("sink")] == [b"out", b"change"]
            assert plane.written == {TopicPartition("sink", 0): 2}
            assert await plane.partition_counts() == {"source": 1, "sink": 1}
            await plane.unassign_restoring([CHANGELOG])
            await world.produce([b"c"])
            assert not await plane.poll_restoring(10)

    run_simulated(scene, seed=1)


def test_it_waits_for_changelogs_and_for_sources() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, planes_of(world) as planes:
            plane, waits, clock = planes.plane, planes.other.waits, simulation.clock
            await plane.wait(100)
            assert waits == [100]  # nothing to restore
            await plane.assign_restoring({CHANGELOG: 0})
            await plane.wait(1_000)
            assert (await plane.poll_restoring(10)).ends == {CHANGELOG: 0}
            begun_ms = clock.now_ms()
            await plane.wait(300)
            assert (clock.now_ms() - begun_ms, waits) == (300, [100])  # no sources
            await plane.assign({SOURCE: 0})
            await plane.wait(300)
            assert (clock.now_ms() - begun_ms, waits) == (305, [100, 295])
            await world.produce([b"x"])
            await asyncio.sleep(0.5)
            await plane.wait(300)
            assert waits == [100, 295]  # a changelog has something
            planes.other.has_room = False
            await plane.wait(70)
            assert waits == [100, 295, 70]
            planes.other.has_room = True
            await plane.unassign([SOURCE])
            await plane.wait(300)
            assert waits == [100, 295, 70]

    run_simulated(scene, seed=1)
