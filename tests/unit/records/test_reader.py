import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, Delay, delay
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import (
    BootstrapError,
    KafkaGroupsError,
    LeaderNotAvailableError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.limits import ReadingLimits
from kafka_groups.records.interface import LogChange
from kafka_groups.records.reader import RecordReader
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop
from kafka_groups.types import RecordRow, TopicPartition
from tests.support.cluster_client import Topic
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

PLACE, OTHER = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


@asynccontextmanager
async def reader_of(world: RecordsWorld, options: FetchOptions | None = None) -> AsyncIterator[RecordReader]:
    client = world.client()
    try:
        yield RecordReader(client, options or FetchOptions(), "reader")
    finally:
        await client.close()


async def read(reader: RecordReader, count: int) -> dict[TopicPartition, list[RecordRow]]:
    """Poll until so many records have come."""
    found: dict[TopicPartition, list[RecordRow]] = {}
    while sum(map(len, found.values())) < count:
        await reader.wait(60_000)
        for place, batch in (await reader.poll(100)).batches.items():
            found.setdefault(place, []).extend(batch.rows())
    return found


async def poll_until_told(reader: RecordReader) -> None:
    """Poll on after errors that may pass."""
    while True:
        await reader.wait(60_000)
        with suppress(UnknownTopicOrPartitionError, LeaderNotAvailableError):
            await reader.poll(1)


def values(rows: list[RecordRow]) -> list[bytes | None]:
    return [row[2] for row in rows]


def test_records_of_several_leaders_are_read_as_they_come() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=4, brokers=3) as world, reader_of(world) as reader:
            reader.assign({TopicPartition(TOPIC, at): 0 for at in range(4)})
            for at in range(4):
                await world.produce([b"%d" % at, NewRecord(None, b"k", 7, [("h", b"x")])], at)
            found = await read(reader, 8)
            assert {place.partition: values(rows) for place, rows in found.items()} == {
                at: [b"%d" % at, None] for at in range(4)
            }
            assert found[PLACE][1] == (1, b"k", None, 7, (("h", b"x"),))
            assert found[PLACE][0][4] == ()

    run_simulated(scene, seed=1)


@pytest.mark.parametrize("codec", list(Compression))
def test_compressed_records_are_read(codec: Compression) -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, reader_of(world) as reader:
            await world.admin.produce(world.topic, [b"x" * 200] * 20, compression=codec)
            reader.assign({PLACE: 5})
            assert values((await read(reader, 15))[PLACE]) == [b"x" * 200] * 15

    run_simulated(scene, seed=1)


def test_a_waiting_reader_hears_of_a_record_at_once_and_of_nothing_when_the_time_is_up() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, reader_of(world) as reader:
            reader.assign({PLACE: 0})
            await reader.wait(5_000)
            assert (await reader.poll(10)).ends == {PLACE: 0}
            begun_ms = simulation.clock.now_ms()
            await reader.wait(700)
            assert simulation.clock.now_ms() - begun_ms == 700
            waiting = asyncio.create_task(reader.wait(60_000))
            await asyncio.sleep(1)
            await world.produce([b"x"])
            await waiting
            assert simulation.clock.now_ms() - begun_ms < 1_800
            assert (await reader.poll(10)).count == 1

    run_simulated(scene, seed=1)


def test_code_that_blocks_for_longer_than_a_request_may_take_costs_no_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(simulation: Simulation) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        async with RecordsWorld(simulation) as world, reader_of(world) as reader:
            reader.assign({PLACE: 0})
            await world.produce([b"0"])
            assert values((await read(reader, 1))[PLACE]) == [b"0"]
            connected = world.requests(ApiKey.API_VERSIONS)
            for number in range(1, 6):
                await world.produce([b"%d" % number])
                loop.block(40)
                assert values((await read(reader, 1))[PLACE]) == [b"%d" % number]
            assert connected == []

    run_simulated(scene, seed=1)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.slow
async def test_answers_of_some_megabytes_that_wait_in_sockets_are_read_after_a_block(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As above, over TCP: the broker works on, and its answers do not fit into one read."""
    clock = SystemClock()
    with EmbeddedCluster() as cluster:
        cluster.create_topic(TOPIC)
        for _ in range(24):
            cluster.produce(TOPIC, [bytes(500_000)])
        client = RecordsClient(admin_config(bootstrap_servers=cluster.bootstrap_servers))
        # One answer is for 6 MB, and with a whole second of a block that counts, its time is up.
        limits = ReadingLimits(max_bytes=6_000_000, max_partition_bytes=6_000_000)
        reader = RecordReader(client, FetchOptions(limits=limits, request_timeout_ms=1_000), "reader")
        reader.assign({PLACE: 0})
        await reader.wait(10_000)
        count, opened = 0, cluster.open_connections
        connected = cluster.faults.on(ApiKey.API_VERSIONS, delay(0))
        while count < 24:
            await reader.wait(10_000)
            count += (await reader.poll(1)).count
            until_ms = clock.now_ms() + 1_300 * (count % 8 == 1)
            while clock.now_ms() < until_ms:
                pass
        assert (cluster.open_connections, connected.hits) == (opened, 0)
        await client.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_topics_are_wanted_while_they_are_read() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, reader_of(world) as reader:
            seen = world.requests(ApiKey.FETCH)
            reader.assign({PLACE: 0})
            await reader.wait(5_000)
            assert len(seen) > 0
            reader.unassign([PLACE])
            await reader.wait(2_000)
            count = len(seen)
            await reader.wait(2_000)
            assert len(seen) == count
            assert not reader.assigned

    run_simulated(scene, seed=1)


def test_room_that_a_poll_makes_is_used_at_once() -> None:
    async def scene(simulation: Simulation) -> None:
        options = FetchOptions(limits=ReadingLimits(max_partition_bytes=100, buffer_bytes=100))
        async with RecordsWorld(simulation) as world, reader_of(world, options) as reader:
            for at in range(3):
                await world.produce([b"%d" % at * 20])
            seen = world.requests(ApiKey.FETCH)
            reader.assign({PLACE: 0})
            await reader.wait(60_000)
            assert len(seen) == 1
            assert (await reader.poll(10)).count == 1
            await asyncio.sleep(0.01)  # before any timer
            assert len(seen) == 2

    run_simulated(scene, seed=1)


def test_a_leader_that_moves_loses_nothing_and_no_time() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, brokers=3) as world, reader_of(world) as reader:
            reader.assign({PLACE: 0})
            found = []
            begun_ms = simulation.clock.now_ms()
            for at in range(6):
                world.cluster.move_leader(TOPIC, 0, 1 + at % 3)
                await world.produce([b"%d" % at])
                found += values((await read(reader, 1))[PLACE])
            assert found == [b"%d" % at for at in range(6)]
            assert simulation.clock.now_ms() - begun_ms < 1_000

    run_simulated(scene, seed=1)


def test_a_leader_that_dies_loses_nothing() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, brokers=3) as world, reader_of(world) as reader:
            reader.assign({PLACE: 0})
            await world.produce([b"0"])
            assert values((await read(reader, 1))[PLACE]) == [b"0"]
            leader = world.cluster.leader_of(TOPIC, 0)
            await world.cluster.kill_broker_async(leader)
            world.cluster.move_leader(TOPIC, 0, leader % 3 + 1)
            world.cluster.produce(TOPIC, [b"1"])
            assert values((await read(reader, 1))[PLACE]) == [b"1"]

    run_simulated(scene, seed=1)


@pytest.mark.parametrize("is_longer", [False, True])
def test_a_log_that_lost_records_is_told_with_both_offsets_and_read_from_where_it_differs(is_longer: bool) -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, brokers=3) as world, reader_of(world) as reader:
            for at in range(10):
                await world.produce([b"old%d" % at])
            reader.assign({PLACE: 0})
            await read(reader, 10)
            world.cluster.elect_unclean_leader(TOPIC, 0, 2, end_offset=4)
            new = [b"new%d" % at for at in range(20 if is_longer else 0)]
            for value in new:
                world.cluster.produce(TOPIC, [value])
            polled = await reader.poll(100)
            while not polled.out_of_range:
                assert not polled.batches
                await reader.wait(1_000)
                polled = await reader.poll(100)
            assert polled.changes == {PLACE: LogChange(10, diverges_at=4)}
            reader.assign({PLACE: 4})
            world.cluster.produce(TOPIC, [b"last"])
            assert values((await read(reader, len(new) + 1))[PLACE]) == [*new, b"last"]

    run_simulated(scene, seed=1)


@pytest.mark.parametrize("seed", range(6))
def test_lost_connections_lost_answers_and_moving_leaders_lose_nothing(seed: int) -> None:
    async def scene(simulation: Simulation) -> None:
        rng, written = simulation.rng, dict[int, list[bytes | None]]()
        options = FetchOptions(limits=ReadingLimits(max_partition_bytes=300, buffer_bytes=2_000))
        async with RecordsWorld(simulation, partitions=3, brokers=3) as world, reader_of(world, options) as reader:
            for action in (DROP_CONNECTION, DROP_RESPONSE, Delay(700)):
                world.cluster.faults.on(ApiKey.FETCH, action, when=lambda _: rng.random() < 0.1)
            reader.assign({TopicPartition(TOPIC, at): 0 for at in range(3)})
            found: dict[int, list[bytes | None]] = {at: [] for at in range(3)}
            for number in range(150):
                at, value = rng.randrange(3), b"%d" % number
                world.cluster.produce(TOPIC, [value], partition=at)
                written.setdefault(at, []).append(value)
                if rng.random() < 0.1:
                    world.cluster.move_leader(TOPIC, at, rng.randint(1, 3))
                await reader.wait(rng.randrange(50))
                await take(reader, found)
            while found != written:
                await reader.wait(60_000)
                await take(reader, found)

    run_simulated(scene, seed=seed)


async def take(reader: RecordReader, found: dict[int, list[bytes | None]]) -> None:
    """Take what has come. Errors that may pass do."""
    try:
        polled = await reader.poll(5)
    except KafkaGroupsError as error:
        if not error.retriable:
            raise
        return
    assert not polled.out_of_range
    for place, batch in polled.batches.items():
        found[place.partition] += values(list(batch.rows()))


def test_a_topic_that_is_made_again_is_told_once_and_read_when_it_is_assigned_again() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, reader_of(world) as reader:
            await world.produce([b"old"] * 10)
            reader.assign({PLACE: 0})
            await read(reader, 10)
            world.cluster.delete_topic(TOPIC)
            created = world.cluster.create_topic(TOPIC, 1, configs=KEPT)
            world.topic = Topic(TOPIC, created.topic_id)
            await world.produce([b"new%d" % at for at in range(30)])
            polled = await reader.poll(100)
            while not polled.out_of_range:
                assert not polled.batches
                await reader.wait(1_000)
                polled = await reader.poll(100)
            assert (polled.batches, polled.changes) == ({}, {PLACE: LogChange(10)})
            reader.assign({PLACE: 0})
            assert values((await read(reader, 30))[PLACE]) == [b"new%d" % at for at in range(30)]

    run_simulated(scene, seed=1)


def test_errors_of_the_client_and_of_partitions_are_raised_by_poll() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world:
            client = RecordsClient(admin_config(bootstrap_servers="nowhere:9"), world.environment())
            reader = RecordReader(client, FetchOptions(), "reader")
            reader.assign({PLACE: 0})
            with pytest.raises(BootstrapError):
                await poll_until_told(reader)
            client.errors.report_fatal(UnsupportedVersionError("too old"))
            for _ in range(2):
                with pytest.raises(UnsupportedVersionError, match="too old"):
                    await reader.poll(1)
            await client.close()

    run_simulated(scene, seed=1)


def test_a_missing_topic_is_an_error_after_a_while_and_is_read_when_it_is_there() -> None:
    async def scene(simulation: Simulation) -> None:
        async with RecordsWorld(simulation) as world, reader_of(world) as reader:
            later = TopicPartition("later", 0)
            reader.assign({later: 0})
            await reader.wait(60_000)
            with pytest.raises(KafkaGroupsError, match="later-0 cannot be read: the topic does not exist") as raised:
                await reader.poll(1)
            assert raised.value.retriable
            created = world.cluster.create_topic("later", 1, configs=KEPT)
            await world.admin.produce(Topic("later", created.topic_id), [b"x"])
            assert values((await read(reader, 1))[later]) == [b"x"]

    run_simulated(scene, seed=1)
