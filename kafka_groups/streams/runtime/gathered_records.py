"""Records of changelogs that wait until there are enough of them for one load."""

from collections.abc import Collection
from typing import Final

from attrs import define, field

from kafka_groups.types import FetchedRecord, TopicPartition

__all__ = ["LOADED_BESIDE", "LOADED_BYTES", "LOADED_RECORDS", "GatheredRecords"]

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


@define(eq=False)
class _GatheredPartition:
    """The records of one partition."""

    since_ms: int
    records: list[FetchedRecord] = field(factory=list)
    size: int = 0

    def add(self, records: list[FetchedRecord]) -> None:
        self.records += records
        self.size += sum(len(record.key or b"") + len(record.value or b"") for record in records)


class GatheredRecords:
    """Gathers records of changelogs by partition."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, _GatheredPartition] = {}

    def __repr__(self) -> str:
        return f"<GatheredRecords of {len(self._waiting)} partitions>"

    def add(self, place: TopicPartition, records: list[FetchedRecord], now_ms: int) -> None:
        """Add records that follow those that wait."""
        if records:
            self._waiting.setdefault(place, _GatheredPartition(now_ms)).add(records)

    def take(self, place: TopicPartition) -> list[FetchedRecord]:
        """Return the records of a partition, which wait no more."""
        found = self._waiting.pop(place, None)
        return [] if found is None else found.records

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
        return found is not None and (len(found.records) >= most or found.size >= LOADED_BYTES)

    def due(self, now_ms: int) -> list[TopicPartition]:
        """Return the partitions whose records have waited for long, and the largest ones if too much waits in all."""
        due = [place for place, each in self._waiting.items() if now_ms - each.since_ms >= _LONGEST_MS]
        others = {place: each for place, each in self._waiting.items() if place not in due}
        records, size = sum(len(each.records) for each in others.values()), sum(each.size for each in others.values())
        for place, each in sorted(others.items(), key=lambda other: -len(other[1].records)):
            if records <= _ALL_RECORDS and size <= _ALL_BYTES:
                break
            due.append(place)
            records, size = records - len(each.records), size - each.size
        return due
