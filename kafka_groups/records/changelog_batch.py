"""Records of a changelog, as stores take them when they are restored."""

from bisect import bisect_left
from collections.abc import Sequence

from attrs import frozen

from kafka_groups.types import Headers

__all__ = ["ChangelogBatch"]


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
