"""The plane on the embedded cluster: records are read, written and committed."""

import asyncio

import pytest
from attrs import evolve

from kafka_groups.errors import ClosedError, IllegalStateError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.records.engine_plane import EnginePlane
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import OffsetAndMetadata
from tests.unit.records.clusters import TOPIC, RecordsWorld
from tests.unit.records.planes import CHANGELOG, GROUP, PATIENCE_MS, SINK, SOURCE, config_of, simulated, written


def test_sources_and_changelogs_are_read_apart_from_each_other() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await world.produce([b"source"])
        await world.produce([b"change"], partition=1)
        assert not await plane.poll(10)
        assert not await plane.poll_restoring(10)
        await plane.assign({SOURCE: 0})
        await plane.assign_restoring({CHANGELOG: 0})
        while not (sources := await plane.poll(10)).batches:
            await plane.wait(PATIENCE_MS)
        while not (changes := await plane.poll_restoring(10)).batches:
            await plane.wait(PATIENCE_MS)
        assert [row[2] for row in sources.batches[SOURCE].rows()] == [b"source"]
        assert [row[2] for row in changes.batches[CHANGELOG].rows()] == [b"change"]
        await plane.pause([SOURCE])
        await world.produce([b"later"])
        await plane.wait(5_000)
        assert not (await plane.poll(10)).batches
        await plane.resume([SOURCE])
        await plane.wait(5_000)
        assert (await plane.poll(10)).count == 1
        await plane.unassign([SOURCE])
        await plane.unassign_restoring([CHANGELOG])
        await world.produce([b"not read"])
        await plane.wait(5_000)
        assert not await plane.poll(10)
        assert not await plane.poll_restoring(10)

    simulated(scene)


def test_records_and_changes_are_written_and_changes_have_offsets() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        assert plane.has_room
        assert not plane.has_failed
        await plane.prepare()
        plane.write("sink", b"k", b"out", 5, (), None)
        plane.write_tracked("sink", b"k", b"change", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert written(world) == [b"out", b"change"]
        assert plane.written == {SINK: 2}
        plane.forget_written([SINK])
        assert plane.written == {}
        plane.write("sink", b"k", b"dropped", 5, (), 0)
        await plane.renew()
        plane.write("sink", b"k", b"after", 5, (), 0, "origin")
        await plane.flush(PATIENCE_MS)
        assert written(world)[-1] == b"after"
        assert plane.refused() == []
        with pytest.raises(IllegalStateError, match="has no transactions"):
            await plane.commit_transaction({}, GROUP)
        with pytest.raises(IllegalStateError, match="has no transactions"):
            plane.send_offsets({}, GROUP)

    simulated(scene)


def test_records_are_committed_with_offsets_in_transactions() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.prepare()
        plane.write("sink", b"k", b"lost", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert await plane.stable_bounds([SINK]) == {SINK: (0, 0)}
        await plane.renew()
        await plane.prepare()
        plane.write_tracked("sink", b"k", b"kept", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        offsets = {SOURCE: OffsetAndMetadata(7, metadata="m")}
        await plane.commit_transaction(offsets, GROUP)
        assert not plane.has_failed
        bounds = (await plane.stable_bounds([SINK]))[SINK]
        await plane.assign_restoring({SINK: 0})
        found = await plane.poll_restoring(10)
        while not found.ends:
            await plane.wait(PATIENCE_MS)
            found = await plane.poll_restoring(10)
        assert [row[2] for row in found.batches[SINK].rows()] == [b"kept"]
        assert found.ends == {SINK: bounds[1]}
        assert plane.written == {SINK: found.batches[SINK].rows()[0][0] + 1}

    simulated(scene, transactional_id="id")


def test_questions_about_topics_and_offsets() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        assert plane.partitions(TOPIC) == 2
        assert plane.partitions("absent") is None
        await world.produce([b"a", b"b", b"c"])
        counts = await plane.partition_counts()
        assert (counts[TOPIC], counts["sink"]) == (2, 1)
        assert await plane.bounds([]) == {}
        assert await plane.bounds([SOURCE, CHANGELOG]) == {SOURCE: (0, 3), CHANGELOG: (0, 0)}
        assert await plane.stable_bounds([SOURCE]) == {SOURCE: (0, 3)}
        assert await plane.offsets_for_times({SOURCE: 0, CHANGELOG: 0}) == {SOURCE: 0}
        await plane.delete_records({SOURCE: 2})
        assert await plane.bounds([SOURCE]) == {SOURCE: (2, 3)}
        world.cluster.create_topic("new", 5)
        assert plane.partitions("new") is None  # as the function says
        await plane.partition_counts()
        assert plane.partitions("new") == 5
        await plane.renew()
        assert plane.partitions("new") == 5

    simulated(scene)


def test_nothing_works_after_the_end() -> None:
    async def scene(_world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.poll(1)
        await plane.close()
        with pytest.raises(ClosedError):
            await plane.poll(1)

    simulated(scene)


def test_metadata_is_fetched_as_often_as_the_youngest_age_wants() -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=2) as world:
            config = config_of(world, metadata_max_age_ms=1_000_000)
            config = evolve(config, restorer=evolve(config.restorer, metadata_max_age_ms=10_000))
            plane = EnginePlane(config, world.environment(), dict)
            await plane.assign({SOURCE: 0})
            await plane.bounds([SOURCE])  # it is connected
            asked = world.requests(ApiKey.METADATA)
            await asyncio.sleep(65)
            await plane.close()
            assert len(asked) == 6

    run_simulated(run, seed=1)
