"""A segment of a log: batches that follow each other, and that are deleted or compacted together."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from attrs import frozen

from kafka_groups.broker.log.batches import BatchInfo

__all__ = ["Segment", "StoredBatch"]

_NO_TIME = -1


@frozen
class StoredBatch:
    """A batch of a log with its bytes."""

    info: BatchInfo
    data: bytes


class Segment:
    """Some batches, and indexes to find one of them by offset, size and timestamp.

    Args:
        base_offset: The first offset that it may have.

    Attributes:
        base_offset: The first offset that it may have.
        created_ms: When its first batch was added, or -1 if there is no batch.
        modified_ms: When its last batch was added, or -1 if there is no batch.
        record_count: Number of records.
    """

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.created_ms = _NO_TIME
        self.modified_ms = _NO_TIME
        self.record_count = 0
        # Parallel lists, because bisect needs its own list of keys. Entry i of each list belongs to batch i.
        self._infos: list[BatchInfo] = []
        self._data: list[bytes] = []
        self._last_offsets: list[int] = []
        self._sizes_up_to: list[int] = []  # of all batches up to this one, including deleted ones
        self._max_timestamps_so_far: list[int] = []
        self._size_before = 0  # of the deleted ones

    def __repr__(self) -> str:
        return f"<Segment from {self.base_offset} on: {len(self)} batches>"

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._infos)

    def __iter__(self) -> Iterator[StoredBatch]:
        return map(StoredBatch, self._infos, self._data)

    @property
    def size_bytes(self) -> int:
        """Size of all batches."""
        return self._sizes_up_to[-1] - self._size_before if self._sizes_up_to else 0

    @property
    def first_timestamp_ms(self) -> int:
        """The largest timestamp of its first batch, or -1 if that has no timestamps."""
        return self._infos[0].max_timestamp_ms if self._infos else _NO_TIME

    @property
    def largest_timestamp_ms(self) -> int:
        """The largest timestamp of its records, or, if none of them has one, when the last was added."""
        largest = self._max_timestamps_so_far[-1] if self._infos else _NO_TIME
        # Records without timestamps are as old as the last append (LogSegment.largestTimestamp in Kafka).
        return largest if largest >= 0 else self.modified_ms

    # ------------------------------------------------------------------------------------------- changing

    def add(self, info: BatchInfo, data: bytes, wall_ms: int) -> None:
        """Add a batch after the others."""
        so_far = self._max_timestamps_so_far
        if not self._infos:
            self.created_ms = wall_ms
        self.modified_ms = wall_ms
        self.record_count += info.record_count
        self._sizes_up_to.append(self.size_at(len(self._infos)) + info.size_bytes)
        so_far.append(max(so_far[-1], info.max_timestamp_ms) if so_far else info.max_timestamp_ms)
        self._infos.append(info)
        self._data.append(data)
        self._last_offsets.append(info.last_offset)

    def drop_before(self, offset: int) -> None:
        """Drop the batches whose offsets are all before an offset."""
        count = self.index_of(offset)
        if count == 0:
            return
        self.record_count -= sum(info.record_count for info in self._infos[:count])
        self._size_before = self._sizes_up_to[count - 1]
        for column in (self._infos, self._data, self._last_offsets, self._sizes_up_to, self._max_timestamps_so_far):
            del column[:count]
        self._lower_timestamps()

    def before(self, offset: int) -> "Segment":
        """Return a segment with the batches whose offsets are all before an offset."""
        # A copy, because the cleaner may be compacting this one: it replaces only segments that it has read.
        segment = Segment(self.base_offset)
        for batch in map(self.batch, range(self.index_of(offset))):
            segment.add(batch.info, batch.data, self.modified_ms)
        segment.created_ms = self.created_ms if len(segment) else _NO_TIME
        return segment

    # ------------------------------------------------------------------------------------------- finding

    def batch(self, index: int) -> StoredBatch:
        """Return a batch."""
        return StoredBatch(self._infos[index], self._data[index])

    def since(self, offset: int) -> Iterator[StoredBatch]:
        """Return the batch with an offset, or the next one, and those after it."""
        return map(self.batch, range(self.index_of(offset), len(self)))

    def batch_at(self, offset: int) -> StoredBatch | None:
        """Return the batch with an offset, or the next one, or None if there is none."""
        index = self.index_of(offset)
        return self.batch(index) if index < len(self._infos) else None

    def index_of(self, offset: int) -> int:
        """Return the index of the batch that has an offset, or of the next one."""
        return bisect_left(self._last_offsets, offset)

    def size_at(self, index: int) -> int:
        """Return the size of all batches before an index, including deleted ones."""
        return self._sizes_up_to[index - 1] if index else self._size_before

    def after_bytes(self, first: int, max_bytes: int) -> int:
        """Return the index after the last of the batches from an index on that have so many bytes together."""
        return bisect_right(self._sizes_up_to, self.size_at(first) + max_bytes, lo=first)

    def index_from(self, offset: int, at_least: int) -> int:
        """Return the index of the first batch that begins at an offset or later, but at least another index."""
        index = bisect_left(self._infos, offset, key=_base_offset)
        return max(index, at_least)

    def infos(self, first: int, after: int) -> list[BatchInfo]:
        """Return what is known of some batches."""
        return self._infos[first:after]

    def data(self, first: int, after: int) -> list[bytes]:
        """Return the bytes of some batches."""
        return self._data[first:after]

    def first_since(self, timestamp_ms: int) -> Iterator[StoredBatch]:
        """Return the batches with records at or after a timestamp."""
        for index in range(bisect_left(self._max_timestamps_so_far, timestamp_ms), len(self._infos)):
            if self._infos[index].max_timestamp_ms >= timestamp_ms:
                yield self.batch(index)

    def latest(self) -> StoredBatch | None:
        """Return the first batch with the largest timestamp, or None if there is none."""
        so_far = self._max_timestamps_so_far
        return self.batch(bisect_left(so_far, so_far[-1])) if so_far else None

    # ------------------------------------------------------------------------------------------- insides

    def _lower_timestamps(self) -> None:
        """Correct the largest timestamps so far after the first batches were dropped, as far as those had larger ones.

        As timestamps mostly grow, this mostly ends at the first batch.
        """
        largest = _NO_TIME
        for index, info in enumerate(self._infos):
            largest = max(largest, info.max_timestamp_ms)
            if self._max_timestamps_so_far[index] == largest:
                return
            self._max_timestamps_so_far[index] = largest


def _base_offset(info: BatchInfo) -> int:
    return info.base_offset
