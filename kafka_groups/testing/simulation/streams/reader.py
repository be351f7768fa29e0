"""Reads assigned partitions by plain Fetch requests, as librdkafka's consumer does for workers in real time."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from kafka_groups.client.calls.client import AdminClient
from kafka_groups.errors import KafkaGroupsError, OffsetOutOfRangeError
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.messages.fetch import READ_COMMITTED, PartitionData
from kafka_groups.protocol.record_batch import DecodedRecord, RecordBatch, iter_batches
from kafka_groups.records.asking import fetching
from kafka_groups.records.interface import NOTHING, ListedRecords, PolledRecords
from kafka_groups.types import FetchedRecord, TopicPartition

__all__ = ["WireReader"]

_ANSWER_MS = 1_000
"""The longest wait for the answer to a fetch, beyond the time that the broker may wait for records."""
_NO_TIMESTAMP = -1


class WireReader:
    """Polls assigned partitions. One task may use it at a time.

    Args:
        client: Asks the brokers. It has connections of its own, as a fetch may wait at the broker.
        clock: Time.
        is_committed_only: Whether records of open and aborted transactions are left out.
    """

    def __init__(self, client: AdminClient, clock: Clock, *, is_committed_only: bool) -> None:
        self._client = client
        self._clock = clock
        self._isolation_level = READ_COMMITTED if is_committed_only else 0
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._told_ends: dict[TopicPartition, int] = {}
        self._fetched: PolledRecords | None = None

    def __repr__(self) -> str:
        return f"<WireReader of {', '.join(map(str, sorted(self._positions))) or 'nothing'}>"

    @property
    def is_assigned(self) -> bool:
        """True if there is a partition to read."""
        return bool(self._positions)

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read more partitions, or assigned ones from another offset on."""
        self.unassign(starts)
        self._positions.update(starts)

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading partitions. `poll` returns no more of their records."""
        ended = frozenset(partitions)
        for each in ended:
            self._positions.pop(each, None)
            self._told_ends.pop(each, None)
        self._paused -= ended
        kept = self._fetched
        if kept is None:
            return
        self._fetched = PolledRecords(
            {place: records for place, records in kept.batches.items() if place not in ended},
            {place: end for place, end in kept.ends.items() if place not in ended},
            tuple(place for place in kept.out_of_range if place not in ended),
        )

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch nothing of some partitions for now."""
        self._paused.update(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch again after `pause`."""
        self._paused.difference_update(partitions)

    async def poll(self) -> PolledRecords:
        """Return what was fetched, or what there is now.

        Raises:
            KafkaGroupsError: A leader did not answer soon, or refused. No record is lost.
        """
        if self._fetched is None:
            await self._fetch(0)
        fetched, self._fetched = self._fetched or NOTHING, None
        return fetched

    async def wait(self, timeout_ms: int) -> None:
        """Wait for records of the next poll. That reports what fails here, if it fails again."""
        begun_ms = self._clock.now_ms()
        if not self._fetched:
            with suppress(KafkaGroupsError):
                await self._fetch(timeout_ms)
        if not self._fetched:
            left_ms = timeout_ms - (self._clock.now_ms() - begun_ms)
            await asyncio.sleep(max(left_ms, 0) / 1_000)

    async def _fetch(self, max_wait_ms: int) -> None:
        """Fetch once. The brokers may wait for records."""
        wanted = {place: offset for place, offset in self._positions.items() if place not in self._paused}
        if not wanted:
            return
        ask = self._client.within(max_wait_ms + _ANSWER_MS)
        found = await ask(fetching(wanted, self._isolation_level, max_wait_ms))
        lost = [place for place, error in found.errors.items() if isinstance(error, OffsetOutOfRangeError)]
        batches = {place: records for place, data in found.values.items() if (records := self._taken(place, data))}
        self.unassign(lost)
        self._fetched = PolledRecords(batches, dict(self._new_ends(found.values)), tuple(lost))
        failures = [error for error in found.errors.values() if not isinstance(error, OffsetOutOfRangeError)]
        if failures and not self._fetched:
            raise failures[0]

    def _taken(self, place: TopicPartition, data: PartitionData) -> ListedRecords:
        """Return the records of a response, and read on after them."""
        position = self._positions[place]
        records = ListedRecords()
        for batch, is_visible in _judged(data):
            if is_visible:
                records += [record for record in map(_record, batch.records()) if record.offset >= position]
            self._positions[place] = max(batch.header.next_offset, position)
        return records

    def _new_ends(self, found: Mapping[TopicPartition, PartitionData]) -> Iterator[tuple[TopicPartition, int]]:
        """Yield the ends that were reached, each of them once."""
        for place, data in found.items():
            end = data.last_stable_offset if self._isolation_level else data.high_watermark
            if self._positions[place] >= end and self._told_ends.get(place) != end:
                self._told_ends[place] = end
                yield place, end


def _judged(data: PartitionData) -> Iterator[tuple[RecordBatch, bool]]:
    """Yield each batch, and whether readers see its records: no markers, and no records that were aborted."""
    coming = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
    aborted: set[int] = set()
    for batch in iter_batches(data.records):
        header = batch.header
        while coming and coming[0][0] <= header.last_offset:
            aborted.add(coming.pop(0)[1])
        if header.is_control:
            aborted.discard(header.producer_id)
        yield batch, not (header.is_control or (header.is_transactional and header.producer_id in aborted))


def _record(record: DecodedRecord) -> FetchedRecord:
    timestamp_ms = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
    return FetchedRecord(record.offset, record.key, record.value, timestamp_ms, tuple(record.headers))
