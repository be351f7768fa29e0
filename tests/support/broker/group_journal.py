"""A journal in memory, for tests of the group coordinator."""

from collections.abc import Iterator, Sequence

from kafka_groups.broker.coordinators.groups.share.records import ShareGroupRecord

RecordKey = tuple[type[ShareGroupRecord], str, str]
"""Class of the record, group id and member id, which is empty for records of the whole group."""


class StoppedError(Exception):
    """The coordinator died in the middle of an operation."""


class MemoryJournal:
    """The last record of every key, in the order in which they were appended.

    A coordinator that takes over replays these records. Tombstones are not kept.

    Attributes:
        stops_after: If given, only so many records of the next longer append are stored.
    """

    def __init__(self) -> None:
        self._records: dict[RecordKey, ShareGroupRecord] = {}
        self.stops_after: int | None = None

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[ShareGroupRecord]:
        return iter(tuple(self._records.values()))

    def append(self, records: Sequence[ShareGroupRecord]) -> None:
        """Add records, or the first ones.

        Raises:
            StoppedError: Not all of them were stored.
        """
        if self.stops_after is None or len(records) <= self.stops_after:
            self.store(records)
        else:
            kept, self.stops_after = records[: self.stops_after], None
            self.store(kept)
            raise StoppedError

    def store(self, records: Sequence[ShareGroupRecord]) -> None:
        """Add records and drop those that they replace."""
        for record in records:
            key = key_of(record)
            self._records.pop(key, None)
            if record.value is not None:
                self._records[key] = record


def key_of(record: ShareGroupRecord) -> RecordKey:
    """The key under which compaction keeps the last record."""
    return type(record), record.group_id, getattr(record, "member_id", "")
