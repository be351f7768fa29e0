"""The whole plane on a Kafka that has no streams groups, with and without transactions: it reads, writes and asks."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from kafka_groups.client.assembly import Environment
from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.records.engine_plane import EnginePlane, EnginePlaneConfig
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.conditions import until
from tests.support.kafka.older_kafkas import OLDER_KAFKAS
from tests.support.kafka.real_kafka import unique
from tests.support.members.negotiated_cluster import NegotiatedCluster

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]

PATIENCE_MS, NOW_MS = 20_000, 1_700_000_000_000
METADATA = "AgAAAAAAAAE="


@pytest.fixture(scope="module", params=OLDER_KAFKAS.values())
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with KafkaProcess(request.param) as started:
        yield started.bootstrap_servers


@asynccontextmanager
async def plane_on(servers: str, transactional_id: str | None) -> AsyncIterator[EnginePlane]:
    config = EnginePlaneConfig(
        connection=admin_config(bootstrap_servers=servers),
        sources=ReaderConfig(),
        restorer=ReaderConfig(isolation_level="read_committed"),
        producer=ProducerConfig(compression_type="lz4"),
        transactional_id=transactional_id,
    )
    plane = EnginePlane(config)
    try:
        yield plane
    finally:
        await plane.close()


async def prepare(plane: EnginePlane) -> None:
    async def is_prepared() -> bool:
        try:
            await plane.prepare()
        except OperationTimeoutError:
            return False
        return True

    await until(is_prepared, bool)


def write(plane: EnginePlane, place: TopicPartition, values: list[bytes]) -> None:
    for value in values:
        plane.write(place.topic, b"k", value, NOW_MS, (("h", value),), place.partition)


async def committed(plane: EnginePlane, place: TopicPartition, count: int) -> list[bytes | None]:
    """Read changelogs, which are read committed, until there are so many records."""
    found: list[bytes | None] = []
    await plane.assign_restoring({place: 0})
    while len(found) < count:
        await plane.wait(PATIENCE_MS)
        polled = await plane.poll_restoring(1_000)
        found += [row[2] for batch in polled.batches.values() for row in batch.rows()]
    await plane.unassign_restoring([place])
    return found


async def test_records_and_offsets_of_transactions(servers: str) -> None:
    out, group_id = TopicPartition(unique("out"), 0), unique("group")
    source, who = TopicPartition(unique("in"), 0), GroupMetadata(group_id, NOBODY)
    kept: list[bytes] = []
    async with NegotiatedCluster(servers, Environment()) as cluster, plane_on(servers, unique("tx")) as plane:
        for place in (out, source):
            await cluster.create_topic(place.topic)
        await prepare(plane)
        for number in range(6):
            values = [b"%d-%d" % (number, each) for each in range(50)]
            write(plane, out, values)
            offsets = {source: OffsetAndMetadata(number + 1, metadata=METADATA)}
            plane.send_offsets(offsets, who)
            await plane.flush(PATIENCE_MS)
            if number % 3 == 1:
                await plane.renew()
                await prepare(plane)
            else:
                await plane.commit_transaction(offsets, who)
                kept += values
        assert await committed(plane, out, len(kept)) == kept
        begin, end = (await plane.stable_bounds([out]))[out]
        assert (begin, end) == (0, 6 * 50 + 6), "a marker for each transaction"
        stored = await cluster.offsets(group_id)
        assert {place: (each.offset, each.metadata) for place, each in stored.items()} == {source: (6, METADATA)}


async def test_records_without_transactions_and_questions(servers: str) -> None:
    topic = unique("numbers")
    place, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    values = [b"%d" % number for number in range(200)]
    async with NegotiatedCluster(servers, Environment()) as cluster, plane_on(servers, None) as plane:
        await cluster.create_topic(topic, partitions=2)
        assert plane.partitions(topic) == 2
        assert plane.partitions(unique("absent")) is None
        write(plane, place, values)
        plane.write_tracked(topic, b"k", b"last", NOW_MS + 1, (), 0)
        await plane.flush(PATIENCE_MS)
        assert plane.written == {place: 201}
        assert await committed(plane, place, 201) == [*values, b"last"]
        assert await plane.bounds([place, empty]) == {place: (0, 201), empty: (0, 0)}
        assert await plane.offsets_for_times({place: NOW_MS + 1, empty: 0}) == {place: 200}
        await plane.delete_records({place: 100})
        assert await plane.bounds([place]) == {place: (100, 201)}
        await plane.assign({place: 0})

        async def is_out_of_range() -> bool:
            await plane.wait(100)
            return place in (await plane.poll(10)).out_of_range

        await until(is_out_of_range, bool)
