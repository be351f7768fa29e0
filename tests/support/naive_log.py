"""A log of one partition that is as simple as can be: a list of batches, each with its rows and their outcome."""

from collections.abc import Sequence

from attrs import define, evolve, field, frozen

from kafka_groups.protocol.messages.fetch import AbortedTransaction
from kafka_groups.protocol.record_batch import rewrite, with_log_append_time
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch, build_control_batch
from kafka_groups.types import RecordRow

_NOWHERE = 1 << 60


@frozen
class LoggedBatch:
    """One batch: its first offset and the one after it, its bytes, its rows, and the transaction that it is part of."""

    base_offset: int
    next_offset: int
    data: bytes
    rows: tuple[RecordRow, ...] = ()
    transaction: int | None = None
    is_marker: bool = False
    leader_epoch: int = -1


@define
class NaiveTransaction:
    """A transaction: its producer, its first offset, and its outcome, None while it is open."""

    producer_id: int
    first_offset: int
    is_committed: bool | None = None
    end_offset: int | None = None


@define(eq=False)
class NaiveLog:
    """Appends batches and answers fetches. Offsets ascend, and may have gaps."""

    leader_epoch: int = 0
    end_offset: int = 0
    start_offset: int = 0
    batches: list[LoggedBatch] = field(factory=list)
    deleted: list[LoggedBatch] = field(factory=list)
    transactions: list[NaiveTransaction] = field(factory=list)

    def append(
        self,
        records: Sequence[NewRecord],
        options: BatchOptions | None = None,
        *,
        producer_id: int | None = None,
        append_time_ms: int | None = None,
    ) -> None:
        """Append a batch, as part of the producer's transaction if it has an id."""
        options = options or BatchOptions()
        if producer_id is not None:
            options = evolve(options, producer_id=producer_id, producer_epoch=0, is_transactional=True)
        options = evolve(options, leader_epoch=self.leader_epoch)
        data = bytearray(build_batch(records, self.end_offset, options))
        if append_time_ms is not None:
            with_log_append_time(data, append_time_ms)
        rows, delta = [], 0
        for record in records:
            delta = delta if record.offset_delta is None else record.offset_delta
            time_ms = record.timestamp_ms if append_time_ms is None else append_time_ms
            rows.append((self.end_offset + delta, record.key, record.value, time_ms, tuple(record.headers)))
            delta += 1
        last = delta - 1 if options.last_offset_delta is None else options.last_offset_delta
        transaction = None if producer_id is None else self._open(producer_id)
        self._add(LoggedBatch(self.end_offset, self.end_offset + last + 1, bytes(data), tuple(rows), transaction))

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        """Append the marker that ends the producer's open transaction, if there is one."""
        for each in self.transactions:
            if each.producer_id == producer_id and each.is_committed is None:
                each.is_committed, each.end_offset = is_commit, self.end_offset
                data = bytearray(build_control_batch(self.end_offset, is_commit=is_commit, producer_id=producer_id))
                rewrite(data, base_offset=self.end_offset, leader_epoch=self.leader_epoch)
                self._add(LoggedBatch(self.end_offset, self.end_offset + 1, bytes(data), is_marker=True))

    def truncate(self, offset: int) -> None:
        """Lose all batches that do not end before an offset."""
        self.batches = [each for each in self.batches if each.next_offset <= offset]
        self.end_offset = self.batches[-1].next_offset if self.batches else self.start_offset
        for each in self.transactions:
            if each.first_offset >= self.end_offset:
                each.first_offset, each.is_committed, each.end_offset = _NOWHERE, True, _NOWHERE
            elif each.end_offset is not None and each.end_offset >= self.end_offset:
                each.is_committed = each.end_offset = None  # its marker is lost

    def delete_before(self, offset: int) -> None:
        """Delete all batches that end before an offset, which becomes the start of the log."""
        self.start_offset = max(self.start_offset, min(offset, self.end_offset))
        self.deleted += [each for each in self.batches if each.next_offset <= self.start_offset]
        self.batches = [each for each in self.batches if each.next_offset > self.start_offset]

    @property
    def stable_offset(self) -> int:
        """Where the first open transaction begins, or the end."""
        return min(
            (each.first_offset for each in self.transactions if each.end_offset is None), default=self.end_offset
        )

    def fetch(self, offset: int, max_bytes: int, end_offset: int) -> tuple[bytes, tuple[AbortedTransaction, ...]]:
        """Return batches from the one that has the offset on, at least one, and the aborted transactions among them."""
        found = [each for each in self.batches if each.next_offset > offset and each.next_offset <= end_offset]
        taken: list[LoggedBatch] = []
        for each in found:
            if taken and sum(len(one.data) for one in taken) + len(each.data) > max_bytes:
                break
            taken.append(each)
        last = taken[-1].next_offset if taken else offset
        aborted = [
            AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
            for each in self.transactions
            if each.is_committed is False and each.first_offset < last and (each.end_offset or 0) >= offset
        ]
        return b"".join(each.data for each in taken), tuple(aborted)

    def rows(self, offset: int, *, is_committed_only: bool) -> list[RecordRow]:
        """Return what a reader sees from an offset on, if it reads everything before anything is deleted."""
        end_offset = self.stable_offset if is_committed_only else self.end_offset
        return [
            row
            for batch in self.deleted + self.batches
            for row in batch.rows
            if offset <= row[0] < end_offset and not (is_committed_only and self._is_aborted(batch))
        ]

    def _is_aborted(self, batch: LoggedBatch) -> bool:
        return batch.transaction is not None and self.transactions[batch.transaction].is_committed is False

    def _open(self, producer_id: int) -> int:
        for at, each in enumerate(self.transactions):
            if each.producer_id == producer_id and each.is_committed is None:
                return at
        self.transactions.append(NaiveTransaction(producer_id, self.end_offset))
        return len(self.transactions) - 1

    def _add(self, batch: LoggedBatch) -> None:
        self.batches.append(evolve(batch, leader_epoch=self.leader_epoch))
        self.end_offset = batch.next_offset
