"""Polled records that are listed in a test, by rows and by columns."""

from collections.abc import Sequence

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.types import FetchedRecord, RecordRow

__all__ = ["ListedRecords", "changelog_batch"]


class ListedRecords(list[FetchedRecord]):
    """A polled batch of records that are parsed already. It is not empty."""

    @property
    def next_offset(self) -> int:
        """The offset after the last record."""
        return self[-1].offset + 1

    def rows(self) -> Sequence[RecordRow]:
        """Return the records: they are tuples."""
        return self

    def records(self) -> list[FetchedRecord]:
        """Return the records."""
        return self

    def columns(self) -> ChangelogBatch:
        """Return the records that have a key, by columns."""
        return changelog_batch(self)


def changelog_batch(records: Sequence[FetchedRecord]) -> ChangelogBatch:
    """Return records of a changelog by columns."""
    # A changelog record without a key belongs to no row: stores are keyed. StoreChangelogReader.bufferChangelogRecords
    # in Kafka leaves it out, too.
    keyed = [record for record in records if record.key is not None]
    return ChangelogBatch(
        offsets=[record.offset for record in keyed],
        keys=[record.key for record in keyed if record.key is not None],
        values=[record.value for record in keyed],
        timestamps_ms=[record.timestamp_ms for record in keyed],
        headers=[record.headers for record in keyed] if any(record.headers for record in keyed) else None,
    )
