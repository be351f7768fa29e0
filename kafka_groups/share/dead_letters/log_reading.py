"""Reads parts of logs without a group: from offsets to other offsets, and then no further."""

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_groups.client.calls.partition_offsets import EARLIEST, offsets_at
from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.errors.texts import sentences
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.interface import PolledRecords
from kafka_groups.records.reader import RecordReader
from kafka_groups.types import FetchedRecord, TopicPartition

__all__ = ["LogReading"]

_MOST: Final = 1_000
"""The number of records after which a poll takes no further batch."""


class LogReading:
    """Reads partitions up to offsets that were their ends, so that it comes to an end while others write.

    Args:
        client: The connections.
        reader: A reader of that client, which nobody else uses.
        timeout_ms: How long it waits for records, or for a broker that does not answer.
    """

    def __init__(self, client: RecordsClient, reader: RecordReader, timeout_ms: int) -> None:
        self._client = client
        self._reader = reader
        self._timeout_ms = timeout_ms
        self._ends: dict[TopicPartition, int] = {}

    def __repr__(self) -> str:
        return f"<LogReading of {self._reader!r}>"

    @property
    def is_over(self) -> bool:
        """True when all partitions were read up to their ends."""
        return not self._ends

    def begin(self, bounds: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Read partitions from an offset up to another one, in place of what was read before."""
        self.stop(tuple(self._ends))
        self._ends = {place: end for place, (start, end) in bounds.items() if start < end}
        self._reader.assign({place: bounds[place][0] for place in self._ends})

    def stop(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions no further."""
        stopped = [place for place in partitions if self._ends.pop(place, None) is not None]
        self._reader.unassign(stopped)

    async def next(self) -> Mapping[TopicPartition, list[FetchedRecord]]:
        """Wait for records and return them, in the order of their offsets; none if only ends were reached.

        Raises:
            OperationTimeoutError: Nothing came in time.
            KafkaGroupsError: A partition cannot be read.
        """
        polled = await self._polled()
        found = {place: self._before_end(place, batch.records()) for place, batch in polled.batches.items()}
        over = [place for place, batch in polled.batches.items() if batch.next_offset >= self._ends.get(place, 0)]
        self.stop([*over, *polled.ends])
        await self._begin_again([place for place in polled.out_of_range if place in self._ends])
        return {place: records for place, records in found.items() if records}

    def _before_end(self, place: TopicPartition, records: list[FetchedRecord]) -> list[FetchedRecord]:
        end = self._ends.get(place, 0)
        return [record for record in records if record.offset < end]

    async def _begin_again(self, lost: list[TopicPartition]) -> None:
        """Continue at the beginning of logs whose next records were deleted."""
        if not lost:
            return
        ends = {place: self._ends.pop(place) for place in lost}
        begins = (await offsets_at(self._client.within(self._timeout_ms), lost, EARLIEST)).checked().values
        again = {place: begin for place, begin in begins.items() if begin < ends[place]}
        self._ends.update({place: ends[place] for place in again})
        self._reader.assign(again)

    async def _polled(self) -> PolledRecords:
        clock = self._client.steady_clock
        end_ms = clock.now_ms() + self._timeout_ms
        last: KafkaGroupsError | None = None
        while (left_ms := end_ms - clock.now_ms()) > 0:
            await self._reader.wait(left_ms)
            try:
                if polled := await self._reader.poll(_MOST):
                    return polled
            except KafkaGroupsError as error:
                if not error.retriable:
                    raise
                last = error
        raise self._timed_out(last)

    def _timed_out(self, cause: KafkaGroupsError | None) -> OperationTimeoutError:
        places = ", ".join(map(str, sorted(self._ends)))
        why = "No broker has sent records." if cause is None else str(cause)
        error = OperationTimeoutError(sentences(f"Could not read {places} within {self._timeout_ms} ms", why))
        error.__cause__ = cause
        return error
