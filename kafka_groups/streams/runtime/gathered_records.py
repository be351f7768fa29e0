"""Records of changelogs that wait until there are enough of them for one load."""

from collections.abc import Collection
from itertools import chain
from typing import Final, NamedTuple

from attrs import define, field

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.records.interface import PolledBatch
from kafka_groups.types import TopicPartition

__all__ = ["LOADED_BESIDE", "LOADED_BYTES", "LOADED_RECORDS", "GatheredBatch", "GatheredRecords"]

LOADED_RECORDS: Final = 50_000
"""The records of a load. Stores on disk take keys in random order faster if there are many of them."""

LOADED_BESIDE: Final = 5_000
"""The same while tasks run, which wait for a load."""

LOADED_BYTES: Final = 16 << 20
"""The bytes of keys and values with which records are loaded, even if they are few."""

_ALL_RECORDS: Final = 4 * LOADED_RECORDS
_ALL_BYTES: Final = 4 * LOADED_BYTES
"""The most that waits in all partitions of a worker together."""

_LONGEST_MS: Final = 500
"""The longest time that a record waits: queries may read standby tasks, which may never be at the end of their logs."""


class GatheredBatch(NamedTuple):
    """Records of one partition for one load.

    Attributes:
        records: Those that have a key.
        next_offset: The offset to read on from.
    """

    records: ChangelogBatch
    next_offset: int


@define(eq=False)
class _GatheredPartition:
    """The records of one partition."""

    since_ms: int
    next_offset: int
    batches: list[ChangelogBatch] = field(factory=list)
    count: int = 0
    size: int = 0

    def add(self, batch: PolledBatch) -> None:
        columns = batch.columns()
        self.batches.append(columns)
        self.next_offset = batch.next_offset
        self.count += len(batch)
        self.size += sum(map(len, columns.keys)) + sum(len(value) for value in columns.values if value is not None)


class GatheredRecords:
    """Gathers records of changelogs by partition."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, _GatheredPartition] = {}

    def __repr__(self) -> str:
        return f"<GatheredRecords of {len(self._waiting)} partitions>"

    def add(self, place: TopicPartition, batch: PolledBatch, now_ms: int) -> None:
        """Add records that follow those that wait."""
        self._waiting.setdefault(place, _GatheredPartition(now_ms, batch.next_offset)).add(batch)

    def take(self, place: TopicPartition) -> GatheredBatch | None:
        """Return the records of a partition, which wait no more. None: there are none."""
        found = self._waiting.pop(place, None)
        return None if found is None else GatheredBatch(_joined(found.batches), found.next_offset)

    def forget(self, places: Collection[TopicPartition]) -> None:
        """Drop the records of partitions."""
        for place in places:
            self._waiting.pop(place, None)

    def is_full(self, place: TopicPartition, most: int) -> bool:
        """Return whether a partition has enough records for a load.

        Args:
            place: The partition.
            most: How many records are enough.
        """
        found = self._waiting.get(place)
        return found is not None and (found.count >= most or found.size >= LOADED_BYTES)

    def due(self, now_ms: int) -> list[TopicPartition]:
        """Return the partitions whose records have waited for long, and the largest ones if too much waits in all."""
        due = [place for place, each in self._waiting.items() if now_ms - each.since_ms >= _LONGEST_MS]
        others = {place: each for place, each in self._waiting.items() if place not in due}
        records, size = sum(each.count for each in others.values()), sum(each.size for each in others.values())
        for place, each in sorted(others.items(), key=lambda other: -other[1].count):
            if records <= _ALL_RECORDS and size <= _ALL_BYTES:
                break
            due.append(place)
            records, size = records - each.count, size - each.size
        return due


def _joined(batches: list[ChangelogBatch]) -> ChangelogBatch:
    if len(batches) == 1:
        return batches[0]
    headers = [batch.headers or [()] * len(batch) for batch in batches]
    return ChangelogBatch(
        list(chain.from_iterable(batch.offsets for batch in batches)),
        list(chain.from_iterable(batch.keys for batch in batches)),
        list(chain.from_iterable(batch.values for batch in batches)),
        list(chain.from_iterable(batch.timestamps_ms for batch in batches)),
        list(chain.from_iterable(headers)) if any(batch.headers for batch in batches) else None,
    )
