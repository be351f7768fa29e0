"""The writer of records of our own engine on real and embedded brokers: all forms of records, and refusals."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from attrs import frozen

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import InvalidRecordError, InvalidTimestampError, MessageTooLargeError
from kafka_groups.protocol.compression import Compression
from kafka_groups.records.batches.building import BatchSettings
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.interface import UnwrittenRecord
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.reader import RecordReader
from kafka_groups.records.writer import EngineWriter, EngineWriterSettings
from kafka_groups.types import Headers, RecordRow, TopicPartition
from tests.support.cluster_client import Topic
from tests.support.targets import Target, everywhere

FLUSH_MS = 30_000
NOW_MS = 1_700_000_000_000
_TOPIC_RESOURCE = 2
COMPACTED = {"cleanup.policy": "compact"}


@frozen
class Bench:
    """A client with a writer and a reader."""

    client: RecordsClient
    writer: EngineWriter
    reader: RecordReader

    def write(self, topic: Topic, *values: bytes, partition: int = 0) -> None:
        for value in values:
            self.writer.write(topic.name, b"k", value, NOW_MS, (), partition, (value,))

    async def flush(self) -> None:
        await self.writer.flush(FLUSH_MS)

    async def rows(self, topic: Topic, partition: int = 0) -> list[RecordRow]:
        """All records of a partition."""
        place = TopicPartition(topic.name, partition)
        end = (await offsets_at(self.client.within(10_000), [place], LATEST))[place]
        self.reader.assign({place: 0})
        rows: list[RecordRow] = []
        while len(rows) < end:
            await self.reader.wait(10_000)
            rows += [row for batch in (await self.reader.poll(10_000)).batches.values() for row in batch.rows()]
        self.reader.unassign([place])
        return rows

    async def values(self, topic: Topic, partition: int = 0) -> list[bytes | None]:
        return [row[2] for row in await self.rows(topic, partition)]


@asynccontextmanager
async def bench_of(target: Target, compression: Compression = Compression.NONE, **sizes: Any) -> AsyncIterator[Bench]:
    client = RecordsClient(admin_config(bootstrap_servers=target.bootstrap_servers), Environment(target.network))
    batches = AccumulatorSettings(form=BatchSettings(compression), **sizes)
    writer = EngineWriter(client, lambda _topic: 3, random.Random(1), EngineWriterSettings(batches))
    try:
        yield Bench(client, writer, RecordReader(client, FetchOptions(), "reader"))
    finally:
        await writer.close()
        await client.close()


def numbered(count: int, size: int = 100) -> list[bytes]:
    return [b"%06d" % number + b"x" * (size - 6) for number in range(count)]


RECORDS: list[tuple[bytes | None, bytes | None, int, Headers]] = [
    (b"k", b"v" * 300, NOW_MS, (("h", b"1"), ("h", None), ("Zürich", b""))),
    (None, b"v" * 300, 5, ()),
    (b"tombstone", None, 5, ()),
    (None, None, 0, ()),
    (b"", b"", 0, ()),
]


@everywhere
@pytest.mark.parametrize("compression", Compression)
async def test_records_arrive_as_they_were_written(target: Target, compression: Compression) -> None:
    topic = await target.cluster.create_topic()
    async with bench_of(target, compression) as bench:
        for key, value, timestamp_ms, headers in RECORDS * 20:
            bench.writer.write(topic.name, key, value, timestamp_ms, headers, 0)
        await bench.flush()
        rows = await bench.rows(topic)
    assert [row[1:] for row in rows] == RECORDS * 20


@everywhere
@pytest.mark.parametrize("compression", set(Compression) - {Compression.NONE})
async def test_brokers_that_look_into_batches_can_read_them(target: Target, compression: Compression) -> None:
    """The keys of a compacted topic are checked, so a broker decompresses the batch."""
    topic = await target.cluster.create_topic(configs=COMPACTED)
    async with bench_of(target, compression) as bench:
        values = numbered(1_000)
        bench.write(topic, *values)
        await bench.flush()
        assert bench.writer.refused() == []
        assert await bench.values(topic) == values


@everywhere
async def test_many_small_batches_keep_their_order(target: Target) -> None:
    topic = await target.cluster.create_topic(3)
    values = numbered(200)
    async with bench_of(target, batch_bytes=500, linger_ms=0) as bench:
        for value in values:
            for partition in range(3):
                bench.write(topic, value, partition=partition)
        await bench.flush()
        for partition in range(3):
            assert await bench.values(topic, partition) == values


@everywhere
async def test_small_records_reach_a_topic_with_small_batches(target: Target) -> None:
    topic = await target.cluster.create_topic(configs={"max.message.bytes": "10000"})
    values = numbered(1_000)
    async with bench_of(target) as bench:
        bench.write(topic, *values)
        await bench.flush()
        assert bench.writer.refused() == []
        assert await bench.values(topic) == values


@everywhere
async def test_a_limit_that_is_lowered_while_records_are_written(target: Target) -> None:
    topic = await target.cluster.create_topic()
    values, large = numbered(2_000), b"L" * 6_000
    async with bench_of(target) as bench:
        bench.write(topic, *values[:1_000])
        await bench.flush()
        await target.cluster.alter_config(_TOPIC_RESOURCE, topic.name, {"max.message.bytes": "5000"})
        refused: list[UnwrittenRecord] = []
        while not refused:  # a broker may act on the change a little later
            bench.write(topic, large)
            await bench.flush()
            refused = bench.writer.refused()
        bench.write(topic, *values[1_000:1_500], large, *values[1_500:])
        await bench.flush()
        refused += bench.writer.refused()
        assert [(type(record.error), record.origin) for record in refused] == [(MessageTooLargeError, (large,))] * 2
        assert [value for value in await bench.values(topic) if value != large] == values


@everywhere
async def test_one_record_without_a_key_is_refused_and_99_are_written(target: Target) -> None:
    topic = await target.cluster.create_topic(configs=COMPACTED)
    values = numbered(100)
    async with bench_of(target) as bench:
        for index, value in enumerate(values):
            bench.writer.write(topic.name, None if index == 40 else b"k%d" % index, value, NOW_MS, (), 0, index)
        await bench.flush()
        [refused] = bench.writer.refused()
        assert (refused.key, refused.value, refused.origin) == (None, values[40], 40)
        assert isinstance(refused.error, InvalidRecordError)
        assert await bench.values(topic) == values[:40] + values[41:]


@everywhere
async def test_one_record_of_the_future_is_refused_and_99_are_written(target: Target) -> None:
    topic = await target.cluster.create_topic(configs={"message.timestamp.after.max.ms": "1000"})
    values = numbered(100)
    async with bench_of(target) as bench:
        for index, value in enumerate(values):
            bench.writer.write(topic.name, b"k", value, 2 * NOW_MS if index == 40 else NOW_MS, (), 0, index)
        await bench.flush()
        [refused] = bench.writer.refused()
        assert (refused.timestamp_ms, refused.origin) == (2 * NOW_MS, 40)
        assert isinstance(refused.error, InvalidTimestampError)
        assert await bench.values(topic) == values[:40] + values[41:]


@everywhere
async def test_refusals_among_batches_in_flight_lose_nothing_else(target: Target) -> None:
    topic = await target.cluster.create_topic(configs=COMPACTED)
    values = numbered(300)
    async with bench_of(target, batch_bytes=500, linger_ms=0) as bench:
        for index, value in enumerate(values):
            bench.writer.write(topic.name, None if index % 7 == 3 else b"k", value, NOW_MS, (), 0, index)
        await bench.flush()
        refused = [index for index in range(300) if index % 7 == 3]
        assert sorted(record.origin for record in bench.writer.refused()) == refused  # type: ignore[type-var]
        assert await bench.values(topic) == [value for index, value in enumerate(values) if index not in refused]


@everywhere
async def test_a_topic_that_is_made_again_takes_what_is_written_next(target: Target) -> None:
    topic = await target.cluster.create_topic()
    async with bench_of(target) as bench:
        bench.write(topic, *numbered(10))
        await bench.flush()
        await target.cluster.delete_topic(topic)
        again = await target.cluster.create_topic(name=topic.name)
        bench.write(topic, b"a", b"b")
        await bench.flush()
        assert await bench.values(again) == [b"a", b"b"]


@everywhere
async def test_brokers_take_an_epoch_that_the_producer_has_raised(target: Target) -> None:
    """KIP-360: without InitProducerId."""
    topic = await target.cluster.create_topic()
    async with bench_of(target) as bench:
        for epoch in range(3):
            bench.write(topic, b"%d" % epoch)
            await bench.flush()
            bench.writer._identity.raise_epoch()
        assert await bench.values(topic) == [b"0", b"1", b"2"]


@everywhere
async def test_tracked_records_have_the_offsets_of_the_log(target: Target) -> None:
    topic = await target.cluster.create_topic()
    async with bench_of(target) as bench:
        for value in numbered(25):
            bench.writer.write_tracked(topic.name, b"k", value, NOW_MS, (), 0)
        await bench.flush()
        assert bench.writer.written == {TopicPartition(topic.name, 0): 25}
