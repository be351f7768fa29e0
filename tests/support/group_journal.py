"""A journal in memory, for tests of the group coordinator."""

from collections.abc import Iterator, Sequence

from kafka_groups.broker.coordinators.groups.records import GroupRecord, RecordKey, key_of


class MemoryJournal:
    """The last record of every key, in the order in which they were appended.

    A coordinator that takes over replays these records. Tombstones are not kept.
    """

    def __init__(self) -> None:
        self._records: dict[RecordKey, GroupRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[GroupRecord]:
        return iter(tuple(self._records.values()))

    def append(self, records: Sequence[GroupRecord]) -> None:
        """Add records and drop those that they replace."""
        for record in records:
            key = key_of(record)
            self._records.pop(key, None)
            if record.value is not None:
                self._records[key] = record
