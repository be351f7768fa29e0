"""A data plane that reads changelogs and global topics on our own engine, and does the rest on another plane."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from uuid import UUID

from typing_extensions import override

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.interface import NO_EPOCHS, NOTHING, DataPlane, PolledRecords, UnwrittenRecord
from kafka_groups.records.reader import RecordReader
from kafka_groups.types import Headers, OffsetAndMetadata, TopicPartition

__all__ = ["RestoringPlane"]

_SHARED_WAIT_MS = 5
"""The time that the worker waits for changelogs while sources may have something, too."""


class RestoringPlane(DataPlane):
    """Restores on our own engine, on the worker's event loop. Sources, writing and questions are another plane's.

    Args:
        plane: The other one, which may block the loop.
        client: The connections of the reader.
        restorer: The reader of changelogs and global topics.
    """

    def __init__(self, plane: DataPlane, client: RecordsClient, restorer: RecordReader) -> None:
        self._plane = plane
        self._client = client
        self._restorer = restorer
        self._sources: frozenset[TopicPartition] = frozenset()
        self.write = plane.write  # type: ignore[method-assign] # called for each record
        self.write_tracked = plane.write_tracked  # type: ignore[method-assign] # called for each change of a store

    def __repr__(self) -> str:
        return f"<RestoringPlane {self._restorer!r}, {self._plane!r}>"

    # ----------------------------------------------------------------------------------------- reading

    @override
    async def assign_restoring(self, starts: Mapping[TopicPartition, int]) -> None:
        self._restorer.assign(starts)

    @override
    async def unassign_restoring(self, partitions: Iterable[TopicPartition]) -> None:
        self._restorer.unassign(partitions)

    @override
    async def poll_restoring(self, most: int) -> PolledRecords:
        return await self._restorer.poll(most) if self._restorer.assigned else NOTHING

    @override
    async def assign(
        self, starts: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] = NO_EPOCHS
    ) -> None:
        await self._plane.assign(starts, epochs)
        self._sources |= starts.keys()

    @override
    async def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        ended = frozenset(partitions)
        await self._plane.unassign(ended)
        self._sources -= ended

    @override
    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        await self._plane.pause(partitions)

    @override
    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        await self._plane.resume(partitions)

    @override
    async def poll(self, most: int) -> PolledRecords:
        polled = await self._plane.poll(most)
        self._sources -= frozenset(polled.out_of_range)
        return polled

    @override
    def topic_ids(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, UUID]:
        return self._plane.topic_ids(partitions)

    @override
    def leader_epochs(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return self._plane.leader_epochs(positions)

    @override
    def changed(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return self._plane.changed(partitions)

    @override
    async def wait(self, timeout_ms: int) -> None:
        """Wait until there may be something to poll or room to write, or the time is up.

        The other plane may block the loop, so changelogs are waited for first, and only briefly if there are sources.
        """
        if not self._restorer.assigned or not self._plane.has_room:
            await self._plane.wait(timeout_ms)
        elif not self._sources:
            await self._restorer.wait(timeout_ms)
        else:
            await self._restorer.wait(min(timeout_ms, _SHARED_WAIT_MS))
            if not self._restorer.has_news:
                await self._plane.wait(max(timeout_ms - _SHARED_WAIT_MS, 0))

    @override
    async def rest(self, timeout_ms: int) -> None:
        await self._plane.rest(timeout_ms)

    # ----------------------------------------------------------------------------------------- writing

    @property
    @override
    def written(self) -> Mapping[TopicPartition, int]:
        return self._plane.written

    @property
    @override
    def replaced(self) -> AbstractSet[TopicPartition]:
        return self._plane.replaced

    @override
    def forget_written(self, partitions: Iterable[TopicPartition]) -> None:
        self._plane.forget_written(partitions)

    @property
    @override
    def has_room(self) -> bool:
        return self._plane.has_room

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
        self._plane.write(topic, key, value, timestamp_ms, headers, partition, origin)

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
        self._plane.write_tracked(topic, key, value, timestamp_ms, headers, partition)

    @override
    async def flush(self, timeout_ms: int) -> None:
        await self._plane.flush(timeout_ms)

    @override
    def refused(self) -> list[UnwrittenRecord]:
        return self._plane.refused()

    @property
    @override
    def has_failed(self) -> bool:
        return self._plane.has_failed

    @override
    async def prepare(self) -> None:
        await self._plane.prepare()

    @override
    def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        self._plane.send_offsets(offsets, who)

    @override
    async def commit_transaction(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        await self._plane.commit_transaction(offsets, who)

    @property
    @override
    def spoils_metadata(self) -> bool:
        return self._plane.spoils_metadata

    @override
    async def renew(self) -> None:
        await self._plane.renew()

    # ------------------------------------------------------------------------------------------ asking

    @override
    def partitions(self, topic: str) -> int | None:
        return self._plane.partitions(topic)

    @override
    async def partition_counts(self) -> Mapping[str, int]:
        return await self._plane.partition_counts()

    @override
    async def bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        return await self._plane.bounds(partitions)

    @override
    async def stable_bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        return await self._plane.stable_bounds(partitions)

    @override
    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return await self._plane.offsets_for_times(times)

    @override
    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        await self._plane.delete_records(before)

    @override
    async def close(self) -> None:
        try:
            await self._client.close()
        finally:
            await self._plane.close()
