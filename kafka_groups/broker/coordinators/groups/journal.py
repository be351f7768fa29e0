"""The coordinator's log: the equivalent of a share group's part of `__consumer_offsets` after compaction."""

from collections.abc import Iterator

from kafka_groups.broker.coordinators.groups.records import GroupRecord, RecordKey, key_of

__all__ = ["GroupJournal"]


class GroupJournal:
    """The last record of every key, in the order in which they were appended.

    A coordinator that takes over replays these records. Tombstones are not kept.
    """

    def __init__(self) -> None:
        self._records: dict[RecordKey, GroupRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[GroupRecord]:
        return iter(tuple(self._records.values()))

    def append(self, record: GroupRecord) -> None:
        """Add a record and drop the record that it replaces."""
        key = key_of(record)
        self._records.pop(key, None)
        if record.value is not None:
            self._records[key] = record
