"""Readers of committed records and of committed offsets."""

import asyncio

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from kafka_groups.protocol.record_batch import RecordBatch, iter_batches
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.transactions.book import Book
from tests.simulation.transactions.brokers_link import BrokersLink
from tests.simulation.transactions.producer import INPUT, PARTITIONS, group_of
from tests.support.cluster_client import Topic

__all__ = ["Reader"]

_PAUSE_S = 0.8
_LOOK_BYTES = 3_000
"""A fetch ends in the middle of transactions."""
_FETCH_BY_NAME = 9


class Reader:
    """Follows all partitions, and looks at the offsets of the groups.

    Args:
        world: Where it lives.
        book: Is told what was seen.
        topic: What it reads.
        names: The transactional ids.

    Attributes:
        found: The committed records by partition.
        offsets: The newest offset of each group, by transactional id.
    """

    def __init__(self, world: SimulatedWorld, book: Book, topic: Topic, names: tuple[str, ...]) -> None:
        self._world = world
        self._book = book
        self._topic = topic
        self._link = BrokersLink(world, "reader")
        self._positions = dict.fromkeys(range(PARTITIONS), 0)
        self.found: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
        self.offsets = dict.fromkeys(names, -1)

    async def follow(self) -> None:
        """Read for ever."""
        while True:
            await self.look()
            await asyncio.sleep(_PAUSE_S)

    async def look(self) -> bool:
        """Read what there is of each partition and group; returns whether that was all that was ever written."""
        try:
            ended = [await self._read(partition) for partition in range(PARTITIONS)]
            for name in self.offsets:
                await self._look_at_offset(name)
        except KafkaGroupsError as error:
            self._world.note("reader met", type(error).__name__)
            return False
        return all(ended)

    def close(self) -> None:
        """Break all connections."""
        self._link.close()

    async def _read(self, partition: int) -> bool:
        position = self._positions[partition]
        wanted = FetchPartition(partition=partition, fetch_offset=position, partition_max_bytes=_LOOK_BYTES)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_LOOK_BYTES,
            isolation_level=1,
            topics=(FetchTopic(topic_id=self._topic.topic_id, partitions=(wanted,)),),
        )
        response = await self._link.for_partition(self._topic.name, partition).ask(request)
        data: PartitionData = response.responses[0].partitions[0]
        if data.error_code is not ErrorCode.NONE:
            return False
        self._take(partition, data)
        return self._positions[partition] >= data.high_watermark

    def _take(self, partition: int, data: PartitionData) -> None:
        """Take committed records, as consumers do: an aborted transaction ends with its marker."""
        coming = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
        aborted: set[int] = set()
        for batch in iter_batches(data.records):
            while coming and coming[0][0] <= batch.header.base_offset:
                aborted.add(coming.pop(0)[1])
            if batch.header.is_control:
                aborted.discard(batch.header.producer_id)
            elif batch.header.producer_id not in aborted:
                self._deliver(partition, batch)
            self._positions[partition] = batch.header.last_offset + 1

    def _deliver(self, partition: int, batch: RecordBatch) -> None:
        for record in batch.records():
            if record.offset >= self._positions[partition]:
                value = record.value or b""
                self.found[partition].append(value)
                self._book.seen(value)

    async def _look_at_offset(self, name: str) -> None:
        topic = OffsetFetchRequestTopic(name=INPUT, partition_indexes=(0,))
        group = OffsetFetchRequestGroup(group_id=group_of(name), topics=(topic,))
        request = OffsetFetchRequest(groups=(group,))
        [found] = (await self._link.for_group(group_of(name)).ask(request, _FETCH_BY_NAME)).groups
        if found.error_code is not ErrorCode.NONE:
            raise KafkaGroupsError(found.error_code.name)
        offset = found.topics[0].partitions[0].committed_offset
        if offset < self.offsets[name]:
            self._book.violations.append(f"the offset of {name} went back from {self.offsets[name]} to {offset}")
        self.offsets[name] = offset
        self._book.offset_seen(name, offset)
