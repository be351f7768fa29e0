"""Batches of fetch responses: which of them readers see, and their records as rows and as columns.

A batch stays as it is until somebody takes its records. Only its header is looked at before.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from kafka_groups.errors import CorruptRecordError
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.compression import Buffer
from kafka_groups.protocol.messages.fetch import AbortedTransaction
from kafka_groups.protocol.record_batch import RecordBatch, foreign_errors, iter_batches
from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.types import FetchedRecord, Headers, RecordRow, TopicPartition

__all__ = ["FetchedBatch", "RawRecords", "check_crc", "read_batches"]

_T = TypeVar("_T")

_NO_TIMESTAMP = -1
_named: Callable[[RecordRow], FetchedRecord] = partial(tuple.__new__, FetchedRecord)  # a third of the time of `_make`


class FetchedBatch(NamedTuple):
    """A batch as it was fetched. A tuple, because many producers send batches of one record.

    Attributes:
        batch: The batch.
        is_visible: Whether readers see its records. They see neither markers of transactions nor aborted records.
    """

    batch: RecordBatch
    is_visible: bool


def read_batches(
    partition: TopicPartition, position: int, records: Buffer | None, aborted: Iterable[AbortedTransaction]
) -> Iterator[FetchedBatch]:
    """Iterate over the batches of a partition in a fetch response.

    Args:
        partition: The partition, for errors.
        position: The offset that was asked for, for errors.
        records: The bytes of the response.
        aborted: The aborted transactions that the response lists.

    Raises:
        CorruptRecordError: A batch has another format or an impossible length, or there is no whole batch at all.
            Earlier batches are returned first.
    """
    coming = deque(sorted((each.first_offset, each.producer_id) for each in aborted))
    ignored: set[int] = set()
    is_empty = bool(records)
    try:
        for batch in iter_batches(records):
            is_empty, position = False, batch.header.next_offset
            yield FetchedBatch(batch, _is_visible(batch, coming, ignored))
        # Brokers return the first batch as a whole, however large it is (KIP-74). Without one, the next answer would be
        # the same.
        if is_empty:
            raise CorruptRecordError(f"{len(records or b'')} bytes without a whole batch")
    except CorruptRecordError as error:
        raise _unreadable(partition, position, position, error) from error


def _is_visible(batch: RecordBatch, coming: deque[tuple[int, int]], ignored: set[int]) -> bool:
    """Judge the next batch of a response, and note which producers' transactions are aborted after it."""
    header = batch.header
    # As in CompletedFetch.nextFetchedRecord in Kafka: a producer is left out from the first offset that the list names
    # up to its marker. Its transactions before and after those are not in the list.
    while coming and coming[0][0] <= header.last_offset:
        ignored.add(coming.popleft()[1])
    if header.is_control:
        ignored.discard(header.producer_id)
        return False
    return not (ignored and header.is_transactional and header.producer_id in ignored)


def check_crc(partition: TopicPartition, batch: RecordBatch) -> None:
    """Verify the checksum of a batch.

    Raises:
        CorruptRecordError: It differs. The message names the partition and the offsets.
    """
    _parsed(partition, batch, RecordBatch.check_crc)


class RawRecords:
    """Records of one partition that are parsed when they are asked for.

    It keeps the bytes of the whole responses in memory that the batches came with.

    Args:
        partition: The partition.
        batches: Visible batches, in the order of their offsets.
        position: The offset of the first record that is wanted. The first batch may begin before it.

    Attributes:
        next_offset: The offset after the last of the batches.

    Raises:
        CorruptRecordError: The first batch begins before the position and cannot be parsed.
    """

    __slots__ = ("_batches", "_partition", "_position", "_unwanted", "next_offset")

    def __init__(self, partition: TopicPartition, batches: Sequence[RecordBatch], position: int) -> None:
        self._partition = partition
        self._batches = batches
        self._position = position
        self.next_offset = batches[-1].header.next_offset
        self._unwanted = self._count_before(position)

    def __repr__(self) -> str:
        return f"<RawRecords of {self._partition}: {len(self)} before offset {self.next_offset}>"

    @property
    def size_bytes(self) -> int:
        """The bytes of the batches, as they were fetched."""
        return sum(len(batch.data) for batch in self._batches)

    def __len__(self) -> int:
        return sum(max(batch.header.record_count, 0) for batch in self._batches) - self._unwanted

    def _count_before(self, position: int) -> int:
        """Return how many records of the first batch come before an offset."""
        first = self._batches[0]
        before = position - first.header.base_offset
        if before <= 0 or first.header.is_dense:
            return min(max(before, 0), first.header.record_count)
        return self._parsed(first, lambda batch: sum(raw.offset < position for raw in batch.compiled()))

    def rows(self) -> list[RecordRow]:
        """Parse the records into plain tuples.

        Raises:
            CorruptRecordError: A batch cannot be parsed. The message names the partition and the offsets.
        """
        rows: list[RecordRow] = []
        for batch in self._batches:
            rows += self._parsed(batch, _rows)
        return rows[self._unwanted :] if self._unwanted else rows

    def records(self) -> list[FetchedRecord]:
        """Parse the records into tuples with names, which takes longer than `rows`.

        Raises:
            CorruptRecordError: A batch cannot be parsed. The message names the partition and the offsets.
        """
        return list(map(_named, self.rows()))

    def columns(self) -> ChangelogBatch:
        """Parse the records into columns, without those that have no key.

        Raises:
            CorruptRecordError: A batch cannot be parsed. The message names the partition and the offsets.
        """
        columns = _Columns(self._position)
        for batch in self._batches:
            self._parsed(batch, columns.add)
        return columns.finished()

    def _parsed(self, batch: RecordBatch, parse: Callable[[RecordBatch], _T]) -> _T:
        return _parsed(self._partition, batch, parse)


def _parsed(partition: TopicPartition, batch: RecordBatch, parse: Callable[[RecordBatch], _T]) -> _T:
    """Call a function with a batch. If the batch is corrupt, the error names the partition and the remedy."""
    header = batch.header
    try:
        return parse(batch)
    except CorruptRecordError as error:
        raise _unreadable(partition, header.base_offset, header.next_offset, error) from error
    except foreign_errors() as error:
        raise _unreadable(partition, header.base_offset, header.next_offset, batch.corrupt(error)) from error


def _rows(batch: RecordBatch) -> list[RecordRow]:
    return [
        (raw.offset, raw.key, raw.value, _NO_TIMESTAMP if (at := raw.timestamp) is None else at, tuple(raw.headers))
        for raw in batch.compiled()
    ]


class _Columns:
    """Columns that are filled batch by batch.

    Args:
        position: The offset of the first record that is wanted.
    """

    def __init__(self, position: int) -> None:
        self._position = position
        self._offsets: list[int] = []
        self._keys: list[bytes] = []
        self._values: list[bytes | None] = []
        self._timestamps_ms: list[int] = []
        self._headers: dict[int, Headers] = {}

    def add(self, batch: RecordBatch) -> None:
        """Append the records of a batch."""
        position, offsets, keys, values, times = (
            self._position, self._offsets, self._keys, self._values, self._timestamps_ms,
        )  # fmt: skip
        for raw in batch.compiled():
            # A changelog record without a key belongs to no row: stores are keyed.
            # StoreChangelogReader.bufferChangelogRecords in Kafka leaves it out, too.
            if (key := raw.key) is None or (offset := raw.offset) < position:
                continue
            if headers := raw.headers:
                self._headers[len(keys)] = tuple(headers)
            offsets.append(offset)
            keys.append(key)
            values.append(raw.value)
            times.append(_NO_TIMESTAMP if (at := raw.timestamp) is None else at)

    def finished(self) -> ChangelogBatch:
        """Return the columns."""
        found = self._headers
        headers = [found.get(at, ()) for at in range(len(self._keys))] if found else None
        return ChangelogBatch(self._offsets, self._keys, self._values, self._timestamps_ms, headers)


def _unreadable(partition: TopicPartition, offset: int, next_offset: int, cause: Exception) -> CorruptRecordError:
    text = sentences(
        f"{partition} cannot be read from offset {offset} on: {cause}",
        "Nothing behind it is read, so that no record is skipped in silence",
        "If another replica of the partition is intact, make its broker the leader",
        f"Otherwise, delete the records before offset {max(next_offset, offset + 1)} (kafka-groups topics"
        " delete-records), which gives up those of the batch, and start again",
    )
    return CorruptRecordError(text)
