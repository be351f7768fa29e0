"""A cluster that runs for long stays within the bounds of its topics, in memory, too."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.conditions import until

MIB = 1_048_576
RECORDS_OF_A_BATCH = 1_000
MOST_GROWTH = 64 * MIB
"""What the process may grow by after the log has reached its bounds: the allocator does not give everything back."""


class Bench:
    """A broker that looks often for what may go, and one topic."""

    def __init__(self, cluster: EmbeddedCluster, client: ClusterClient, topic: Topic) -> None:
        self.cluster = cluster
        self.topic = topic
        self._client = client

    @property
    def log(self) -> PartitionLog:
        return self.cluster.logs.get(self.topic.topic_id, 0)

    async def write(self, batches: Sequence[bytes], count: int) -> None:
        """Send so many batches, a few at a time."""
        for number in range(0, count, 8):
            some = (batches[each % len(batches)] for each in range(number, number + 8))
            await asyncio.gather(*(self._client.produce_raw(self.topic, batch) for batch in some))


@asynccontextmanager
async def bench_with(configs: Mapping[str, str]) -> AsyncIterator[Bench]:
    often = {"log.initial.task.delay.ms": 0, "log.retention.check.interval.ms": 100, "log.cleaner.backoff.ms": 100}
    network = MemoryNetwork()
    async with EmbeddedCluster(network=network, settings=often) as cluster:
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        client = ClusterClient(network, host, int(port))
        try:
            yield Bench(cluster, client, await client.create_topic(configs=configs))
        finally:
            await client.close()


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("records", [20_000_000])
async def test_a_log_with_a_largest_size(records: int) -> None:
    bound = 32 * MIB
    batch = build_batch([NewRecord(b"%032d" % number) for number in range(RECORDS_OF_A_BATCH)])
    async with bench_with({"retention.bytes": str(bound), "segment.bytes": str(4 * MIB)}) as bench:
        count = records // RECORDS_OF_A_BATCH
        await bench.write([batch], count // 5)
        before = resident_bytes()
        largest = 0
        for _ in range(4):
            await bench.write([batch], count // 5)
            largest = max(largest, bench.log.size_bytes)
        assert resident_bytes() - before < MOST_GROWTH
        assert bench.log.end_offset == records
        assert largest < 4 * bound  # it is checked every 100 ms
        await until(lambda: _size(bench), lambda size: bound <= size < bound + 4 * MIB)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("updates", "keys"), [(10_000_000, 100_000)])
async def test_a_compacted_log(updates: int, keys: int) -> None:
    configs = {"cleanup.policy": "compact", "segment.bytes": str(8 * MIB)}
    batches = [
        build_batch([NewRecord(b"%016d" % n, b"key-%06d" % n) for n in range(first, first + RECORDS_OF_A_BATCH)])
        for first in range(0, keys, RECORDS_OF_A_BATCH)
    ]
    async with bench_with(configs) as bench:
        count = updates // RECORDS_OF_A_BATCH
        await bench.write(batches, count // 5)
        before = resident_bytes()
        for _ in range(4):
            await bench.write(batches, count // 5)
        assert bench.log.end_offset == updates
        # Each key once, as much again that is dirty, and the segment that grows.
        most = 2 * sum(map(len, batches)) + 2 * 8 * MIB
        await until(lambda: _size(bench), lambda size: size < most, timeout_s=60)
        assert resident_bytes() - before < MOST_GROWTH
        found = {record.key for record in bench.cluster.records(bench.topic.name)}
        assert len(found) == keys


async def _size(bench: Bench) -> int:
    return bench.log.size_bytes
