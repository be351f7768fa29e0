"""A naive partition that takes the batches of idempotent producers by Kafka's rules.

The rules are those of `UnifiedLog` and `ProducerAppendInfo` in Kafka 4.4.0.
"""

from collections import deque

from attrs import define, field

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import BatchIndexAndErrorMessage
from kafka_groups.protocol.record_batch import BatchHeader, RecordBatch, iter_batches

__all__ = ["POISON", "NaivePartition", "Taken"]

POISON = b"poison"
"""The beginning of values that the partition refuses."""


@define
class Taken:
    """An answer about a batch."""

    error: ErrorCode = ErrorCode.NONE
    base_offset: int = -1
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = ()


@define
class _Remembered:
    epoch: int
    batches: deque[tuple[int, int, int]] = field(factory=lambda: deque(maxlen=5))
    """First and last number, and first offset."""


@define
class NaivePartition:
    """The log of a partition.

    Attributes:
        values: The values of its records.
        max_bytes: The largest batch.
        names_records: Whether refusals name the records (KIP-467).
        has_forgotten: Whether it has ever forgotten a producer, so that records may be written twice.
    """

    values: list[bytes] = field(factory=list)
    max_bytes: int = 10**6
    names_records: bool = True
    has_forgotten: bool = False
    _producers: dict[int, _Remembered] = field(factory=dict)

    def forget(self) -> None:
        """Forget all producers, as after their expiry."""
        self.has_forgotten = self.has_forgotten or bool(self._producers)
        self._producers.clear()

    def continue_at(self, last_sequence: int) -> None:
        """Have producers written up to a number."""
        for known in self._producers.values():
            known.batches.clear()
            known.batches.append((last_sequence, last_sequence, len(self.values) - 1))

    def keep_last_batches(self) -> None:
        """Forget all but the last batch of each producer, as a restart from a snapshot does."""
        for known in self._producers.values():
            self.has_forgotten = self.has_forgotten or len(known.batches) > 1
            while len(known.batches) > 1:
                known.batches.popleft()

    def append(self, data: bytes) -> Taken:
        """Append a batch, or refuse it."""
        [batch] = iter_batches(data)
        batch.check_crc()
        if len(data) > self.max_bytes:
            return Taken(ErrorCode.MESSAGE_TOO_LARGE)
        poisoned = self._poisoned(batch)
        if poisoned:
            named = poisoned if self.names_records else ()
            return Taken(ErrorCode.INVALID_RECORD, record_errors=named)
        known = self._producers.get(batch.header.producer_id)
        repeated = None if known is None else _offset_of(known, batch.header)
        if repeated is not None:
            return Taken(base_offset=repeated)
        error = ErrorCode.NONE if known is None else _check(known, batch.header)
        return Taken(error) if error else self._take(batch)

    @staticmethod
    def _poisoned(batch: RecordBatch) -> tuple[BatchIndexAndErrorMessage, ...]:
        return tuple(
            BatchIndexAndErrorMessage(batch_index=index)
            for index, record in enumerate(batch.records())
            if (record.value or b"").startswith(POISON)
        )

    def _take(self, batch: RecordBatch) -> Taken:
        header, offset = batch.header, len(self.values)
        known = self._producers.setdefault(header.producer_id, _Remembered(header.producer_epoch))
        if known.epoch != header.producer_epoch:
            known = self._producers[header.producer_id] = _Remembered(header.producer_epoch)
        known.batches.append((header.base_sequence, header.last_sequence, offset))
        self.values += [record.value or b"" for record in batch.records()]
        return Taken(base_offset=offset)


def _offset_of(known: _Remembered, header: BatchHeader) -> int | None:
    if known.epoch != header.producer_epoch:
        return None
    numbers = header.base_sequence, header.last_sequence
    return next((offset for first, last, offset in known.batches if (first, last) == numbers), None)


def _check(known: _Remembered, header: BatchHeader) -> ErrorCode:
    if header.producer_epoch < known.epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if header.producer_epoch > known.epoch:
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if header.base_sequence else ErrorCode.NONE
    expected = (known.batches[-1][1] + 1) & 0x7FFFFFFF
    return ErrorCode.NONE if header.base_sequence == expected else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
