"""The reader of records of our own engine, beside what brokers have: formats, transactions, ends, topics made again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.record_deletion import deletion_of_records
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.limits import ReadingLimits
from kafka_groups.records.interface import LogChange, PolledRecords
from kafka_groups.records.reader import RecordReader
from kafka_groups.types import RecordRow, TopicPartition
from tests.conformance.test_transactions import begin, new_producer
from tests.support.cluster_client import Topic
from tests.support.targets import Target, everywhere


@asynccontextmanager
async def client_of(target: Target) -> AsyncIterator[RecordsClient]:
    client = RecordsClient(admin_config(bootstrap_servers=target.bootstrap_servers), Environment(target.network))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def reader_of(target: Target, options: FetchOptions | None = None) -> AsyncIterator[RecordReader]:
    async with client_of(target) as client:
        yield RecordReader(client, options or FetchOptions(), "reader")


async def polled(reader: RecordReader) -> PolledRecords:
    """Poll until there is something."""
    while not (found := await reader.poll(1_000)):
        await reader.wait(10_000)
    return found


async def read_to_end(reader: RecordReader, place: TopicPartition, start: int = 0) -> tuple[list[RecordRow], int]:
    """Return the records of a partition, and its end."""
    reader.assign({place: start})
    rows: list[RecordRow] = []
    while True:
        found = await polled(reader)
        rows += [row for batch in found.batches.values() for row in batch.rows()]
        if place in found.ends:
            return rows, found.ends[place]


def place_of(topic: Topic) -> TopicPartition:
    return TopicPartition(topic.name, 0)


@everywhere
@pytest.mark.parametrize("codec", list(Compression))
async def test_records_come_as_they_were_written(target: Target, codec: Compression) -> None:
    topic = await target.cluster.create_topic()
    records = [NewRecord(b"v" * 300, b"k", 5, [("h", b"x"), ("n", None)]), NewRecord(None, b"t", 6), NewRecord(b"n")]
    for _ in range(3):
        await target.cluster.produce(topic, records, compression=codec)
    async with reader_of(target) as reader:
        rows, end = await read_to_end(reader, place_of(topic), 1)
    one: list[RecordRow] = [
        (0, b"k", b"v" * 300, 5, (("h", b"x"), ("n", None))),
        (1, b"t", None, 6, ()),
        (2, None, b"n", 0, ()),
    ]
    assert rows == [(3 * at + row[0], *row[1:]) for at in range(3) for row in one][1:]
    assert end == 9


@everywhere
async def test_the_time_of_the_append(target: Target) -> None:
    topic = await target.cluster.create_topic(configs={"message.timestamp.type": "LogAppendTime"})
    await target.cluster.produce(topic, [NewRecord(b"a", timestamp_ms=5), NewRecord(b"b", timestamp_ms=6)])
    async with reader_of(target) as reader:
        rows, _ = await read_to_end(reader, place_of(topic))
    (time_ms,) = {row[3] for row in rows}
    assert time_ms > 1_600_000_000_000


@everywhere
async def test_aborted_records_and_markers_are_left_out_and_open_ones_are_awaited(target: Target) -> None:
    topic = await target.cluster.create_topic()
    aborting, committing, opened = [await new_producer(target) for _ in range(3)]
    await begin(committing, topic, b"c1")
    await begin(aborting, topic, b"a1")
    await begin(committing, topic, b"c2")
    await aborting.end(committed=False)
    await aborting.until_ended()
    await committing.end(committed=True)
    await committing.until_ended()
    await begin(opened, topic, b"o1")
    await target.cluster.produce(topic, [b"plain"])
    async with reader_of(target) as reader, reader_of(target, FetchOptions(isolation_level=0)) as all_reader:
        rows, end = await read_to_end(reader, place_of(topic))
        assert ([row[2] for row in rows], end) == ([b"c1", b"c2"], 5)
        rows, end = await read_to_end(all_reader, place_of(topic))
        assert ([row[2] for row in rows], end) == ([b"c1", b"a1", b"c2", b"o1", b"plain"], 7)
        await opened.end(committed=True)
        found = await polled(reader)
        assert [row[2] for batch in found.batches.values() for row in batch.rows()] == [b"o1", b"plain"]


@everywhere
async def test_many_batches_come_in_order_through_little_room(target: Target) -> None:
    topic = await target.cluster.create_topic()
    for at in range(40):
        await target.cluster.produce(topic, [b"%d" % at * 50] * 5)
    limits = ReadingLimits(max_partition_bytes=2_000, buffer_bytes=6_000)
    async with reader_of(target, FetchOptions(limits=limits)) as reader:
        rows, _ = await read_to_end(reader, place_of(topic))
    assert [row[:1] + row[2:3] for row in rows] == [(at, b"%d" % (at // 5) * 50) for at in range(200)]


@everywhere
async def test_offsets_that_the_log_does_not_have_are_out_of_range(target: Target) -> None:
    topic = await target.cluster.create_topic()
    place = place_of(topic)
    for _ in range(10):
        await target.cluster.produce(topic, [b"x"])
    async with client_of(target) as client:
        reader = RecordReader(client, FetchOptions(), "reader")
        (await client.within(20_000)(deletion_of_records({place: 5}))).checked()
        for start in (2, 90):
            reader.assign({place: start})
            assert await polled(reader) == PolledRecords({}, {}, (place,))
        assert [row[0] for row in (await read_to_end(reader, place, 5))[0]] == [5, 6, 7, 8, 9]


@everywhere
async def test_a_topic_that_is_made_again_is_told_and_read_from_where_it_is_assigned(target: Target) -> None:
    topic = await target.cluster.create_topic()
    place = place_of(topic)
    await target.cluster.produce(topic, [b"old"] * 10)
    async with reader_of(target) as reader:
        await read_to_end(reader, place)
        await target.cluster.delete_topic(topic)
        again = await target.cluster.create_topic(name=topic.name)
        await target.cluster.produce(again, [b"new%d" % at for at in range(30)])
        found = await polled(reader)
        assert (found.batches, found.out_of_range, found.changes) == ({}, (place,), {place: LogChange(10)})
        rows, _ = await read_to_end(reader, place)
    assert [row[2] for row in rows] == [b"new%d" % at for at in range(30)]
