"""A program that writes each input once, in transactions with the offset of the input, while it is disturbed."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Self

from kafka_groups.client.assembly import Environment
from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import DeliveryFailedError, OperationTimeoutError, TransactionFailedError
from kafka_groups.net.network import Network
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.reader import RecordReader
from kafka_groups.records.transactional_writer import TransactionalEngineWriter, TransactionSettings
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.conditions import until
from tests.support.members.negotiated_cluster import NegotiatedCluster

__all__ = ["TransactingProgram"]

_STEP_MS, _PATIENCE_S = 5_000, 120.0


class TransactingProgram:
    """Runs transactions in the background. Use it as a context manager.

    Args:
        servers: All brokers.
        output: The topic that it writes.
        partitions: Its number of partitions.
        source: The topic whose offsets it commits.
        network: The way to the brokers.

    Attributes:
        lost: The number of transactions that were lost.
    """

    def __init__(self, servers: str, output: str, partitions: int, source: str, network: Network) -> None:
        self._outputs = tuple(TopicPartition(output, each) for each in range(partitions))
        self._source = TopicPartition(source, 0)
        self._who = GroupMetadata(f"group of {output}", NOBODY)
        self._rng = random.Random(1)
        environment = Environment(network)
        self._cluster = NegotiatedCluster(servers, environment)
        self._client = RecordsClient(admin_config(bootstrap_servers=servers), environment)
        self._reader = RecordReader(self._client, FetchOptions(), "reader")
        self._writer = TransactionalEngineWriter(
            self._client, lambda _topic: partitions, self._rng, TransactionSettings(output, 60_000)
        )
        self._next = self._committed = 0
        self._moved = asyncio.Event()
        self._is_wanted = True
        self._task: asyncio.Task[None] | None = None
        self.lost = 0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="transactions")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._writer.close()
        await self._client.close()
        await self._cluster.__aexit__(None, None, None)

    async def go_on(self, commits: int) -> None:
        """Wait until there were so many more commits."""
        assert self._task is not None
        async with asyncio.timeout(_PATIENCE_S):
            for _ in range(commits):
                self._moved.clear()
                waiting = asyncio.create_task(self._moved.wait())
                await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if self._task.done():
                    self._task.result()

    async def check(self) -> None:
        """Finish, and check that committed records are exactly the inputs before the committed offset, each once."""
        assert self._task is not None
        self._is_wanted = False
        await self._task
        offset = self._committed
        expected = {self._source: OffsetAndMetadata(offset)}
        await until(lambda: self._cluster.offsets(self._who.group_id), lambda it: it == expected)  # markers may be late
        found = await self._found(offset)
        assert sorted(found) == [b"%06d" % number for number in range(offset)]

    async def _found(self, count: int) -> list[bytes]:
        """The values of committed records, until there are so many and the logs end."""
        self._reader.assign(dict.fromkeys(self._outputs, 0))
        found: list[bytes] = []
        at_end: set[TopicPartition] = set()
        async with asyncio.timeout(_PATIENCE_S):
            while len(found) < count or len(at_end) < len(self._outputs):
                await self._reader.wait(1_000)
                polled = await self._reader.poll(10_000)
                at_end.update(polled.ends)
                found += [row[2] or b"" for batch in polled.batches.values() for row in batch.rows()]
        return found

    # ------------------------------------------------------------------------------------------ the loop

    async def _run(self) -> None:
        await self._begin()
        while self._is_wanted:
            try:
                await self._transaction()
            except TransactionFailedError:
                self.lost += 1
                await self._writer.renew()
                await self._begin()

    async def _begin(self) -> None:
        await self._until_done(lambda: self._writer.prepare(_STEP_MS))
        stored = await self._cluster.offsets(self._who.group_id)
        self._next = stored[self._source].offset if self._source in stored else 0

    async def _transaction(self) -> None:
        now_ms = self._client.clock.wall_ms()
        for _ in range(self._rng.randint(1, 20)):
            place = self._rng.choice(self._outputs)
            self._writer.write(place.topic, None, b"%06d" % self._next, now_ms, (), place.partition)
            self._next += 1
        offsets = {self._source: OffsetAndMetadata(self._next)}
        self._writer.send_offsets(offsets, self._who)
        await self._until_done(lambda: self._writer.flush(_STEP_MS))
        await self._until_done(lambda: self._writer.commit(offsets, self._who, _STEP_MS))
        self._committed = self._next
        self._moved.set()

    @staticmethod
    async def _until_done(step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except (OperationTimeoutError, DeliveryFailedError):
                continue
            return
