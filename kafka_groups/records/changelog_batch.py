"""Records of a changelog, as stores take them when they are restored."""

from bisect import bisect_left
from collections.abc import Sequence

from attrs import frozen

from kafka_groups.types import FetchedRecord, Headers

__all__ = ["ChangelogBatch", "changelog_batch"]


@frozen
class ChangelogBatch:
    """Records of one partition of a changelog, by columns. Records without a key, which no row has, are left out.

    Attributes:
        offsets: Their offsets, ascending.
        keys: Their keys.
        values: Their values; None deletes the key.
        timestamps_ms: Their timestamps.
        headers: Their headers. None: no record has any.
    """

    offsets: Sequence[int]
    keys: Sequence[bytes]
    values: Sequence[bytes | None]
    timestamps_ms: Sequence[int]
    headers: Sequence[Headers] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def before(self, offset: int) -> "ChangelogBatch":
        """Return the records before an offset."""
        count = bisect_left(self.offsets, offset)
        if count == len(self):
            return self
        headers = None if self.headers is None else self.headers[:count]
        return ChangelogBatch(
            self.offsets[:count], self.keys[:count], self.values[:count], self.timestamps_ms[:count], headers
        )


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
