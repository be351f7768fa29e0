"""The waits and rests of the plane, and blocks of the loop in which nothing is lost."""

import asyncio
import logging

import pytest

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.records.engine_plane import EnginePlane
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop
from tests.unit.records.clusters import RecordsWorld
from tests.unit.records.deleted_source import LEVELS, DeletedSource
from tests.unit.records.planes import PATIENCE_MS, SOURCE, simulated, written


@pytest.mark.parametrize("level", LEVELS)
def test_a_block_of_40_s_closes_no_connection_and_loses_no_transaction(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The time for a request is 30 s, and that for a transaction 60 s."""

    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        source = DeletedSource(world, plane)
        await source.begin(level, is_pending=False)
        await source.commit()  # so that there is a connection of each kind
        connected = world.requests(ApiKey.API_VERSIONS)
        for number in range(3):
            plane.write("sink", b"k", b"before %d" % number, 5, (), 0)
            await plane.wait(10)  # the batch is under way
            loop.block(40)
            plane.write("sink", b"k", b"after %d" % number, 5, (), 0)
            await plane.flush(PATIENCE_MS)
            await source.commit()
        assert connected == []
        assert written(world)[-6:] == [b"%s %d" % (when, at) for at in range(3) for when in (b"before", b"after")]

    simulated(scene, transactional_id="id", transaction_timeout_ms=60_000)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_wait_ends_when_there_is_room_and_not_before() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        clock = world.simulation.clock
        room = [plane.has_room]
        plane.write("sink", b"k", b"x" * 2_000, 5, (), 0)
        room.append(plane.has_room)
        begun_ms = clock.now_ms()
        await plane.wait(PATIENCE_MS)
        room.append(plane.has_room)
        assert room == [True, False, True]
        assert clock.now_ms() - begun_ms < PATIENCE_MS
        begun_ms = clock.now_ms()
        await plane.wait(700)  # there is room all the time, and nothing to read
        await plane.rest(50)
        assert clock.now_ms() - begun_ms == 750

    simulated(scene, buffer_memory=1_000)


def test_a_rest_lasts_whatever_arrives() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.assign({SOURCE: 0})
        assert not await plane.poll(10)
        await world.produce([b"x"])
        begun_ms = world.simulation.clock.now_ms()
        await plane.rest(3_000)
        assert world.simulation.clock.now_ms() - begun_ms == 3_000
        assert (await plane.poll(10)).count == 1

    simulated(scene)
