"""The offsets between which partitions are read."""

from collections.abc import Mapping, Sequence

from kafka_groups.cli.records.reading_start import ReadingStart
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at, offsets_at_or_ends
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import OffsetOutOfRangeError
from kafka_groups.types import TopicPartition

__all__ = ["PartitionBounds", "bounds_of"]

PartitionBounds = Mapping[TopicPartition, tuple[int, int]]
"""The first offset to read, and the end of the log when it was asked for."""


async def bounds_of(
    ask: Asking, partitions: Sequence[TopicPartition], start: ReadingStart, *, committed: bool
) -> PartitionBounds:
    """Return the bounds of partitions.

    Args:
        ask: Asks the brokers.
        partitions: The partitions.
        start: Where to begin.
        committed: Whether an open transaction ends a partition.

    Raises:
        OffsetOutOfRangeError: A partition ends before the offset.
        KafkaGroupsError: The brokers do not tell.
    """
    begins = (await offsets_at(ask, partitions, EARLIEST)).checked().values
    ends = (await offsets_at(ask, partitions, LATEST, committed=committed)).checked().values
    if start.time_ms is None:
        starts = {place: _start(start.at, place, begins[place], ends[place]) for place in partitions}
    else:
        starts = dict((await offsets_at_or_ends(ask, partitions, start.time_ms)).checked().values)
    return {place: (starts[place], ends[place]) for place in partitions}


def _start(at: str | int, place: TopicPartition, begin: int, end: int) -> int:
    if at == "latest":
        return end
    if isinstance(at, str):
        return begin
    if at < 0:
        return max(end + at, begin)
    if at > end:
        raise OffsetOutOfRangeError(f"{place} has the offsets {begin} to {end}, and {at} is behind its end.")
    return max(at, begin)
