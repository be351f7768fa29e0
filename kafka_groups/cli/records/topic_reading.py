"""Reads topics without a group, from a place on, and up to their ends if those are wanted."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

import click

from kafka_groups.cli.records.existing_topics import existing_partitions
from kafka_groups.cli.records.named_topics import NamedTopic
from kafka_groups.cli.records.partition_bounds import bounds_of
from kafka_groups.cli.records.reading_start import ReadingStart
from kafka_groups.cli.records.record_columns import ReadColumns
from kafka_groups.client.calls.partition_offsets import EARLIEST, offsets_at
from kafka_groups.client.principals import principal_of
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.validating import not_readable
from kafka_groups.records.interface import PolledRecords
from kafka_groups.records.reader import RecordReader
from kafka_groups.types import RecordRow, TopicPartition

__all__ = ["TopicReading"]

_MOST: Final = 1_000
"""The number of records after which a poll takes no further batch."""


class TopicReading:
    """Reads partitions and returns what arrives, without bound or up to the ends that they had at the start.

    Args:
        config: How to reach the brokers.
        timeout_ms: The longest wait for an answer of the brokers, apart from records.
        committed: Whether records of open and aborted transactions are left out.
    """

    def __init__(self, config: ClientConfig, timeout_ms: int, *, committed: bool) -> None:
        self._client = RecordsClient(config)
        self._principal = principal_of(config)
        self._timeout_ms = timeout_ms
        self._committed = committed
        options = FetchOptions(isolation_level=int(committed), principal=self._principal)
        self._reader = RecordReader(self._client, options, "consume")
        self._ends: dict[TopicPartition, int] | None = None
        self._said = ""

    def __repr__(self) -> str:
        return f"<TopicReading of {self._reader!r}>"

    @property
    def is_over(self) -> bool:
        """True when all partitions were read up to their ends. Without ends, it never is."""
        return self._ends is not None and not self._ends

    async def begin(self, topics: Sequence[NamedTopic], start: ReadingStart, *, to_end: bool) -> None:
        """Begin to read topics.

        Args:
            topics: The topics.
            start: Where to begin in each partition.
            to_end: Whether to read up to the ends of now.

        Raises:
            UnknownTopicOrPartitionError: A topic or partition does not exist.
            OffsetOutOfRangeError: A partition ends before the offset where it begins.
            KafkaGroupsError: The brokers do not tell, or refuse.
        """
        ask = self._client.within(self._timeout_ms)
        found = await existing_partitions(ask, topics, partial(not_readable, principal=self._principal))
        places = [place for partitions in found.values() for place in partitions]
        bounds = await bounds_of(ask, places, start, committed=self._committed)
        if to_end:
            bounds = {place: each for place, each in bounds.items() if each[0] < each[1]}
            self._ends = {place: end for place, (_, end) in bounds.items()}
        self._reader.assign({place: begin for place, (begin, _) in bounds.items()})

    async def next(self, timeout_ms: int) -> Sequence[ReadColumns]:
        """Wait for records and return them; none if the time is up, or if only ends were reached.

        Raises:
            KafkaGroupsError: A partition cannot be read.
        """
        await self._reader.wait(timeout_ms)
        try:
            polled = await self._reader.poll(_MOST)
        except KafkaGroupsError as error:
            if not error.retriable:
                raise
            self._say(str(error))
            return ()
        found = [self._columns(place, batch.rows()) for place, batch in polled.batches.items()]
        self._stop_at_ends(polled)
        await self._begin_again(polled)
        return [each for each in found if each.rows]

    def _columns(self, place: TopicPartition, rows: Sequence[RecordRow]) -> ReadColumns:
        columns = ReadColumns(place.topic, place.partition, rows)
        return columns if self._ends is None else columns.before(self._ends.get(place, 0))

    def _stop_at_ends(self, polled: PolledRecords) -> None:
        if self._ends is None:
            return
        over = [place for place, batch in polled.batches.items() if batch.next_offset >= self._ends.get(place, 0)]
        self._stop([*over, *polled.ends])

    def _stop(self, places: Iterable[TopicPartition]) -> None:
        stopped = [place for place in places if self._ends is not None and self._ends.pop(place, None) is not None]
        self._reader.unassign(stopped)

    async def _begin_again(self, polled: PolledRecords) -> None:
        """Continue at the beginning of logs that do not have the next offset."""
        if not polled.out_of_range:
            return
        begins = (await offsets_at(self._client.within(self._timeout_ms), polled.out_of_range, EARLIEST)).checked()
        for place, begin in begins.values.items():
            change = polled.changes.get(place)
            self._say(
                f"{place}: the next record does not exist any more; reading goes on at offset {begin}."
                if change is None
                else change.described(place)
            )
        self._reader.assign(begins.values)

    def _say(self, text: str) -> None:
        """Print something on standard error, once if it is repeated."""
        if text != self._said:
            click.echo(text, err=True)
        self._said = text

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
