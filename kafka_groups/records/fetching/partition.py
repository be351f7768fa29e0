"""The state of a reader in one partition: its position, what was fetched and not taken, and how it ends."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define, evolve, field, frozen

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.errors import CorruptRecordError, KafkaGroupsError
from kafka_groups.protocol.messages.fetch import PartitionData
from kafka_groups.protocol.record_batch import RecordBatch
from kafka_groups.records.batches.reading import FetchedBatch, RawRecords, check_crc, read_batches
from kafka_groups.records.fetching.limits import PartitionSize
from kafka_groups.records.fetching.positions import FetchPosition, TakenEpochs
from kafka_groups.records.interface import LogChange
from kafka_groups.types import TopicPartition

__all__ = ["OUTAGE_MS", "Ending", "ReadPartition"]

OUTAGE_MS: Final = 5_000
"""The time that a partition or a broker may fail before its error is reported: leaders move in less."""


@frozen
class Ending:
    """The reason why a partition is not read on.

    Attributes:
        error: An error to raise. None: the log does not have the next offset.
        change: The change of the log that is the reason for that, if it is known.
    """

    error: KafkaGroupsError | None = None
    change: LogChange | None = None


@define(eq=False)
class ReadPartition:
    """One partition that is read.

    Attributes:
        partition: Which one.
        position: What to fetch next.
        size: How much to ask for.
        retry: When the next attempt may be made, after errors of this partition.
        taken: The offset of the next record to take.
        end: Where the log ended with the last answer, for the isolation level of the reader.
        read_epoch: The epoch of the leader that answered last without error.
        replica: The node id of a replica to fetch from in place of the leader, and until when (KIP-392).
        ending: Why it is not fetched any more. Batches that have arrived are taken before it is reported.
        is_paused: Whether nothing is fetched or taken for now.
        seeks_leader: Whether the next attempt is made as soon as there is news about leaders.
        waiting_bytes: The bytes of what was fetched and not taken.
        epochs: The leader epochs of what was taken.
    """

    partition: TopicPartition
    position: FetchPosition
    size: PartitionSize
    retry: BackoffTimer
    taken: int
    end: int | None = None
    read_epoch: int | None = None
    replica: tuple[int, int] | None = None
    ending: Ending | None = None
    is_paused: bool = False
    seeks_leader: bool = False
    waiting_bytes: int = 0
    epochs: TakenEpochs = field(init=False)
    _told_end: int | None = None
    _failing_since_ms: int | None = None
    _waiting: deque[FetchedBatch] = field(factory=deque)
    _arrivals: deque[tuple[int, int]] = field(factory=deque)  # the first offset of each answer, and when it came

    def __attrs_post_init__(self) -> None:
        self.epochs = TakenEpochs(self.position.offset, self.position.leader_epoch)

    # ------------------------------------------------------------------------------------------- fetching

    def may_fetch(self, share: int) -> int:
        """Return how many bytes to ask for; 0 if the partition is not to be fetched now.

        Args:
            share: The room of the partition, in bytes.
        """
        return 0 if self.is_paused or self.ending is not None else self.size.ask(self.waiting_bytes, share)

    def accept(self, data: PartitionData, end: int, leader_epoch: int, now_ms: int) -> Sequence[FetchedBatch]:
        """Take in the records of an answer. Return the batches that are new."""
        self.retry.succeeded()
        self._failing_since_ms = None
        self.end, self.read_epoch = end, leader_epoch
        if not data.records:
            return ()
        batches: list[FetchedBatch] = []
        try:
            for each in self._new(data):
                batches.append(each)  # noqa: PERF402 - those before an error count
        except CorruptRecordError as error:
            self.ending = Ending(error)
        if batches:
            self._arrivals.append((batches[-1].batch.header.next_offset, now_ms))
        self._waiting += batches
        self.waiting_bytes += sum(len(each.batch.data) for each in batches)
        self.position = self.position.after(each.batch.header for each in batches)
        return batches

    def _new(self, data: PartitionData) -> Iterable[FetchedBatch]:
        offset = self.position.offset
        for each in read_batches(self.partition, offset, data.records, data.aborted_transactions or ()):
            # An answer begins with the batch that has the offset, and not with one before that.
            if each.batch.header.next_offset > offset:
                yield each

    def note_failure(self, now_ms: int) -> bool:
        """Note an error that may pass. Return whether it has lasted for so long that it must be reported."""
        self.retry.failed(now_ms)
        if self._failing_since_ms is None:
            self._failing_since_ms = now_ms
        return now_ms - self._failing_since_ms >= OUTAGE_MS

    def go_back(self, position: FetchPosition) -> None:
        """Drop what was fetched from a position on, and fetch from there again."""
        while self._waiting and self._waiting[-1].batch.header.next_offset > position.offset:
            batch = self._waiting.pop().batch
            self.waiting_bytes -= len(batch.data)
            position = evolve(position, offset=min(position.offset, max(batch.header.base_offset, self.taken)))
        self.position = position

    def end_with(self, ending: Ending, *, is_dropped: bool = False) -> None:
        """Fetch no more.

        Args:
            ending: Why.
            is_dropped: Whether what waits is not to be taken.
        """
        self.ending = ending
        if is_dropped:
            self._waiting.clear()
            self._arrivals.clear()
            self.waiting_bytes = 0

    # --------------------------------------------------------------------------------------------- taking

    @property
    def has_news(self) -> bool:
        """True if there is something to take or to tell."""
        if self._waiting:
            return not self.is_paused
        return self.ending is not None or self._has_new_end

    @property
    def lag(self) -> int | None:
        """The offsets between the next record to take and the end of the log. None: nobody has told the end."""
        return None if self.end is None else self.end - self.taken

    @property
    def is_over(self) -> bool:
        """True if it is not fetched any more, and all that was fetched is taken."""
        return self.ending is not None and not self._waiting

    def take(self, most: int, now_ms: int, *, check_crcs: bool) -> RawRecords | None:
        """Take whole batches until they have so many records. None: there are none.

        A corrupt batch is the end of the partition; those before it are returned.
        """
        if self.is_paused:
            return None
        batches: list[RecordBatch] = []
        count, position = 0, self.taken
        # Markers behind the last record that is taken are passed over with it, so that the end is told with it.
        while self._waiting and (count < most or not self._waiting[0].is_visible):
            batch, is_visible = self._waiting[0]
            if check_crcs and not self._is_intact(batch):
                break
            self._waiting.popleft()
            self.epochs.take(batch.header)
            self.waiting_bytes -= len(batch.data)
            if is_visible and batch.header.record_count:
                batches.append(batch)
                count += batch.header.record_count
            self.taken = max(self.taken, batch.header.next_offset)
        self._note_waits(now_ms)
        return self._records(batches, position) if batches else None

    def _is_intact(self, batch: RecordBatch) -> bool:
        try:
            check_crc(self.partition, batch)
        except CorruptRecordError as error:
            self.end_with(Ending(error), is_dropped=True)
            return False
        return True

    def _records(self, batches: list[RecordBatch], position: int) -> RawRecords | None:
        try:
            return RawRecords(self.partition, batches, position) or None
        except CorruptRecordError as error:
            self.taken = position
            self.end_with(Ending(error), is_dropped=True)
            return None

    def _note_waits(self, now_ms: int) -> None:
        while self._arrivals and self._arrivals[0][0] <= self.taken:
            self.size.note_wait(now_ms - self._arrivals.popleft()[1])

    @property
    def _has_new_end(self) -> bool:
        return self.end is not None and self.taken >= self.end and self._told_end != self.end

    def new_end(self) -> int | None:
        """Return where the log ends, if everything was taken and that was not told yet."""
        if self._waiting or not self._has_new_end:
            return None
        self._told_end = self.end
        return self.end
