"""A source that is deleted while what was read of it is committed, at each level of transactions."""

from contextlib import suppress

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.errors import OperationTimeoutError, TransactionFailedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.records.engine_plane import EnginePlane
from kafka_groups.types import OffsetAndMetadata
from tests.support.cluster_client import Topic
from tests.support.members.negotiated_cluster import NegotiatedCluster
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld
from tests.unit.records.planes import GROUP, PATIENCE_MS, SOURCE, read_sources


class DeletedSource:
    """A worker whose source is deleted while it commits what it has read of it."""

    def __init__(self, world: RecordsWorld, plane: EnginePlane) -> None:
        self.world, self.plane = world, plane
        self.offsets = {SOURCE: OffsetAndMetadata(20)}
        self.is_group_away = False

    async def begin(self, level: int, *, is_pending: bool, is_stored: bool = False) -> None:
        """Process 20 records, and begin to commit them.

        Args:
            level: The level of transactions.
            is_pending: Whether the coordinator of the group does not answer.
            is_stored: Whether it has stored the offset already.
        """
        world, plane = self.world, self.plane
        world.cluster.faults.on(ApiKey.TXN_OFFSET_COMMIT, DROP_CONNECTION, when=lambda _: self.is_group_away)
        async with self.other_client() as client:
            await client.finalise("transaction.version", level)
        await world.produce([b"old %d" % number for number in range(20)])
        await plane.prepare()
        await plane.assign({SOURCE: 0})
        for value in await read_sources(plane, 20):
            plane.write("sink", b"k", value, 5, (), 0)
        if is_stored:
            plane.send_offsets(self.offsets, GROUP)
        await plane.flush(PATIENCE_MS)
        await plane.wait(1_000)
        self.is_group_away = is_pending
        if is_pending:
            with pytest.raises(OperationTimeoutError):
                await self.commit()

    def other_client(self) -> NegotiatedCluster:
        return NegotiatedCluster(self.world.cluster.bootstrap_servers, self.world.environment())

    def delete(self) -> None:
        self.world.cluster.delete_topic(TOPIC)

    async def make_again(self) -> None:
        """Make the source again, with 30 other records."""
        self.create()
        await self.fill()

    def create(self) -> None:
        topic_id = self.world.cluster.create_topic(TOPIC, self.world.partitions, configs=KEPT).topic_id
        self.world.topic = Topic(TOPIC, topic_id)

    async def fill(self) -> None:
        await self.world.produce([b"new %d" % number for number in range(30)])

    async def notice(self) -> None:
        """Poll as a worker does while its commit is pending, until it hears that the source is another one."""
        while not (await self.plane.poll(100)).changes:
            await self.plane.wait(PATIENCE_MS)
        self.offsets = {}

    async def commit(self) -> None:
        await self.plane.commit_transaction(self.offsets, GROUP)

    async def fail(self) -> TransactionFailedError:
        """Commit until the transaction is lost. Return why."""
        self.is_group_away = False
        with pytest.raises(TransactionFailedError) as raised:
            await self._until_committed()
        assert self.plane.has_failed
        return raised.value

    async def _until_committed(self) -> None:
        for _ in range(30):  # not for ever: a fault would take long to show itself
            with suppress(OperationTimeoutError):
                await self.commit()
                return

    async def begin_again(self) -> None:
        """Begin as tasks do, at what the group has. Nothing of the new source may be missing."""
        await self.plane.renew()
        await self.plane.unassign([SOURCE])
        async with self.other_client() as client:
            assert await client.offsets("group") == {}
        await self.plane.prepare()
        await self.plane.assign({SOURCE: 0})
        assert await read_sources(self.plane, 30) == [b"new %d" % number for number in range(30)]
        self.offsets = {SOURCE: OffsetAndMetadata(30)}
        await self.commit()
        async with self.other_client() as client:
            assert await client.offsets("group") == self.offsets


LEVELS = (1, 2)
