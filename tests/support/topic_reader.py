"""Reads whole topics, whatever has written them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.reader import RecordReader
from kafka_groups.types import Headers, TopicPartition
from tests.support.targets import Target

__all__ = ["Log", "Row", "TopicReader", "topic_reader"]

Row = tuple[bytes | None, bytes | None, int, Headers]
"""Key, value, time in ms and headers of a record. Its offset is left out: markers of transactions have some, too."""

Log = list[list[Row]]
"""The committed records of each partition of a topic, in order."""


@frozen
class TopicReader:
    """Reads topics from their start to their end."""

    _target: Target
    _reader: RecordReader

    async def log(self, topic: str) -> Log:
        """Return the committed records of each partition; of none if there is no such topic yet."""
        described = await self._target.cluster.describe_topic(topic)
        places = [TopicPartition(topic, each.partition_index) for each in described.partitions]
        return [await self._partition(place) for place in sorted(places)]

    async def count(self, topic: str) -> int:
        """Return the number of committed records."""
        return sum(map(len, await self.log(topic)))

    async def values(self, topic: str) -> list[bytes | None]:
        """Return the values of all partitions, one after the other."""
        return [row[1] for rows in await self.log(topic) for row in rows]

    async def _partition(self, place: TopicPartition) -> list[Row]:
        self._reader.assign({place: 0})
        rows: list[Row] = []
        is_at_end = False
        while not is_at_end:
            await self._reader.wait(10_000)
            found = await self._reader.poll(10_000)
            rows += [row[1:] for batch in found.batches.values() for row in batch.rows()]
            is_at_end = place in found.ends
            if place in found.out_of_range:
                change = found.changes.get(place)
                assert change is not None, f"the first records of {place} are deleted"
                assert change.diverges_at is None, change
                self._reader.assign({place: 0})  # the topic was made again: the other one is read
                rows.clear()
        self._reader.unassign([place])
        return rows


@asynccontextmanager
async def topic_reader(target: Target, isolation_level: int = 1) -> AsyncIterator[TopicReader]:
    """Read topics of a cluster: committed records (1), or all (0)."""
    client = RecordsClient(admin_config(bootstrap_servers=target.bootstrap_servers), Environment(target.network))
    try:
        options = FetchOptions(isolation_level=isolation_level)
        yield TopicReader(target, RecordReader(client, options, "reader"))
    finally:
        await client.close()
