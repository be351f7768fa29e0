"""The data plane of a worker in virtual time: plain Kafka requests on the engine that all our clients have.

Real workers use librdkafka, which has threads and clocks of its own. Nothing but simulations uses this one.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from attrs import frozen
from typing_extensions import override

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import AdminClient, admin_client
from kafka_groups.client.calls.partition_offsets import offsets_at
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.membership.group_metadata import read_group_metadata
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.list_offsets import EARLIEST, LATEST
from kafka_groups.protocol.messages.metadata import MetadataRequest
from kafka_groups.records.asking import deleting
from kafka_groups.records.interface import NOTHING, DataPlane, PolledRecords, UnwrittenRecord
from kafka_groups.testing.simulation.streams.reader import WireReader
from kafka_groups.testing.simulation.streams.writer import WireWriter, WriterOptions
from kafka_groups.types import Headers, OffsetAndMetadata, TopicPartition

__all__ = ["PlaneOptions", "WirePlane"]

_ASKING_MS = 1_000
"""The time for each question, as a worker has with librdkafka. It repeats what fails."""
_SHARED_WAIT_MS = 20
"""The time that a worker waits while changelogs may have something, or while it has no task."""


@frozen
class PlaneOptions:
    """The settings of a plane.

    Attributes:
        bootstrap_servers: Where the brokers are.
        environment: Makes the environment of a client: the network, virtual time, and randomness of its own.
        partitions: Returns a topic's number of partitions, or None. A worker asks for it without waiting.
        transactional_id: The id, or None to write without transactions.
        transaction_timeout_ms: When the coordinator aborts a transaction that does not end.
        reads_committed: Whether source topics are read without aborted records.
    """

    bootstrap_servers: object
    environment: Callable[[], Environment]
    partitions: Callable[[str], int | None]
    transactional_id: str | None
    transaction_timeout_ms: int
    reads_committed: bool


class WirePlane(DataPlane):
    """Reads, writes and asks for a worker."""

    def __init__(self, options: PlaneOptions) -> None:
        self._options = options
        environment = options.environment()
        clients = [self._client(), self._client(), self._client()]
        self._asking, sources, restorer = self._clients = clients
        self._sources = WireReader(sources, environment.clock, is_committed_only=options.reads_committed)
        self._restorer = WireReader(restorer, environment.clock, is_committed_only=True)
        assert environment.rng is not None  # noqa: S101 - the world gives each client its own
        self._writer = WireWriter(
            WriterOptions(
                self._asking,
                environment.clock,
                environment.rng,
                options.partitions,
                options.transactional_id,
                options.transaction_timeout_ms,
            )
        )

    def __repr__(self) -> str:
        return f"<WirePlane {self._sources!r}, {self._restorer!r}>"

    def _client(self) -> AdminClient:
        return admin_client(
            admin_config(bootstrap_servers=self._options.bootstrap_servers), self._options.environment()
        )

    @property
    @override
    def written(self) -> Mapping[TopicPartition, int]:
        return self._writer.written

    @override
    def forget_written(self, partitions: Iterable[TopicPartition]) -> None:
        for place in partitions:
            self._writer.written.pop(place, None)

    @property
    @override
    def has_failed(self) -> bool:
        return self._writer.has_failed

    @property
    @override
    def has_room(self) -> bool:
        return self._writer.has_room

    # ----------------------------------------------------------------------------------------- reading

    @override
    async def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        self._sources.assign(starts)

    @override
    async def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        self._sources.unassign(partitions)

    @override
    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._sources.pause(partitions)

    @override
    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._sources.resume(partitions)

    @override
    async def poll(self, _most: int) -> PolledRecords:
        return await self._sources.poll() if self._sources.is_assigned else NOTHING

    @override
    async def assign_restoring(self, starts: Mapping[TopicPartition, int]) -> None:
        self._restorer.assign(starts)

    @override
    async def unassign_restoring(self, partitions: Iterable[TopicPartition]) -> None:
        self._restorer.unassign(partitions)

    @override
    async def poll_restoring(self, _most: int) -> PolledRecords:
        return await self._restorer.poll() if self._restorer.is_assigned else NOTHING

    @override
    async def wait(self, timeout_ms: int) -> None:
        if self._restorer.is_assigned or not self._sources.is_assigned:
            await asyncio.sleep(min(timeout_ms, _SHARED_WAIT_MS) / 1_000)
        else:
            await self._sources.wait(timeout_ms)

    @override
    async def rest(self, timeout_ms: int) -> None:
        await asyncio.sleep(timeout_ms / 1_000)

    # ----------------------------------------------------------------------------------------- writing

    @override
    def write(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        origin: object = None,
    ) -> None:
        self._writer.write(topic, key, value, timestamp_ms, headers, partition, origin)

    @override
    def write_tracked(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int,
    ) -> None:
        self._writer.write_tracked(topic, key, value, timestamp_ms, headers, partition)

    @override
    async def flush(self, timeout_ms: int) -> None:
        await self._writer.flush(timeout_ms)

    @override
    def refused(self) -> list[UnwrittenRecord]:
        return self._writer.refused()

    @override
    async def renew(self) -> None:
        await self._writer.renew()

    @override
    async def prepare(self) -> None:
        await self._writer.prepare(_ASKING_MS)

    @override
    async def commit_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: bytes
    ) -> None:
        await self._writer.commit(offsets, read_group_metadata(group_metadata), _ASKING_MS)

    # ------------------------------------------------------------------------------------------ asking

    @override
    def partitions(self, topic: str) -> int | None:
        return self._options.partitions(topic)

    @override
    async def partition_counts(self) -> Mapping[str, int]:
        ask = self._asking.within(_ASKING_MS)
        question = Question(
            "list the topics",
            ApiKey.METADATA,
            ("",),
            lambda _keys, _version: MetadataRequest(topics=None, allow_auto_topic_creation=False),
            dict.fromkeys,
        )
        response = (await ask(question))[""]
        return {topic.name or "": len(topic.partitions) for topic in response.topics if topic.partitions}

    @override
    async def bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        return await self._bounds(partitions, committed=False)

    @override
    async def stable_bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        return await self._bounds(partitions, committed=True)

    async def _bounds(
        self, partitions: Iterable[TopicPartition], *, committed: bool
    ) -> dict[TopicPartition, tuple[int, int]]:
        asked = tuple(partitions)
        begins = (await offsets_at(self._asking.within(_ASKING_MS), asked, EARLIEST)).checked()
        ends = (await offsets_at(self._asking.within(_ASKING_MS), asked, LATEST, committed=committed)).checked()
        return {each: (begins[each], ends[each]) for each in asked}

    @override
    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for time_ms in sorted(set(times.values())):
            places = [place for place, each in times.items() if each == time_ms]
            found.update((await offsets_at(self._asking.within(_ASKING_MS), places, time_ms)).checked().values)
        return {place: offset for place, offset in found.items() if offset >= 0}

    @override
    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        (await self._asking.within(_ASKING_MS)(deleting(before))).checked()

    @override
    async def close(self) -> None:
        await self._writer.close()
        for each in self._clients:
            await each.close()
