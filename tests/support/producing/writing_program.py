"""A writer that writes numbered records while a test does things to its brokers, and a look at what has arrived."""

import random
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.net.network import Network
from kafka_groups.protocol.compression import Compression
from kafka_groups.records.batches.building import BatchSettings
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.reader import RecordReader
from kafka_groups.records.writer import EngineWriter, EngineWriterSettings
from kafka_groups.types import TopicPartition

__all__ = ["WritingProgram"]

_SIZE = 100
_NOW_MS = 1_700_000_000_000
_STEP_MS = 20
_PATIENCE_MS = 90_000


class WritingProgram:
    """Writes to all partitions of a topic.

    Args:
        servers: Addresses of brokers.
        topic: The topic.
        partitions: The number of its partitions.
        network: The way to the brokers; None for TCP.
        compression: The compression of batches.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        network: Network | None = None,
        compression: Compression = Compression.NONE,
    ) -> None:
        self._places = [TopicPartition(topic, partition) for partition in range(partitions)]
        self._client = RecordsClient(admin_config(bootstrap_servers=servers), Environment(network))
        settings = EngineWriterSettings(AccumulatorSettings(batch_bytes=2_000, form=BatchSettings(compression)))
        self.writer = EngineWriter(self._client, lambda _topic: partitions, random.Random(1), settings)
        self._reader = RecordReader(self._client, FetchOptions(), "reader")
        self.written: list[bytes] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.writer.close()
        await self._client.close()

    async def go_on(self, steps: int, records: int = 10) -> None:
        """Write some records to each partition, again and again."""
        for _ in range(steps):
            for _ in range(records):
                value = b"%08d" % len(self.written) + b"x" * (_SIZE - 8)
                self.written.append(value)
                for place in self._places:
                    self.writer.write(place.topic, b"k", value, _NOW_MS, (), place.partition, value)
            await self._client.wait(_STEP_MS, lambda: False)

    async def flush(self) -> None:
        """Wait until all is written."""
        await self.writer.flush(_PATIENCE_MS)

    async def found(self) -> Mapping[TopicPartition, list[bytes | None]]:
        """The values of all records by partition."""
        ends = await offsets_at(self._client.within(_PATIENCE_MS), self._places, LATEST)
        self._reader.assign(dict.fromkeys(self._places, 0))
        found: dict[TopicPartition, list[bytes | None]] = {place: [] for place in self._places}
        while any(len(found[place]) < ends[place] for place in self._places):
            await self._reader.wait(1_000)
            for place, batch in (await self._reader.poll(10_000)).batches.items():
                found[place] += [row[2] for row in batch.rows()]
        self._reader.unassign(self._places)
        return found

    async def check(self) -> None:
        """Each record is in each partition once, and in order."""
        assert self.writer.refused() == []
        for place, values in (await self.found()).items():
            assert values == self.written, f"{place}: {len(values)} records, {len(self.written)} written"
