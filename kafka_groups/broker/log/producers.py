"""The last batches of each idempotent producer of a log, to distinguish duplicates from gaps."""

from collections import deque

from attrs import define, frozen

from kafka_groups.errors import InvalidProducerEpochError, OutOfOrderSequenceNumberError
from kafka_groups.protocol.record_batch import NO_PRODUCER_ID, BatchHeader

__all__ = ["AppendedBatch", "ProducerStates"]

_REMEMBERED_BATCHES = 5  # the number that a producer may have in flight (max.in.flight.requests.per.connection)
_SEQUENCE_MASK = 0x7FFFFFFF


@frozen
class AppendedBatch:
    """A batch that a producer sent before."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp_ms: int


@define
class _ProducerState:
    epoch: int
    batches: deque[AppendedBatch]
    last_append_ms: int

    @property
    def next_sequence(self) -> int:
        return (self.batches[-1].last_sequence + 1) & _SEQUENCE_MASK


class ProducerStates:
    """The idempotent producers of one partition."""

    def __init__(self) -> None:
        self._states: dict[int, _ProducerState] = {}

    def __len__(self) -> int:
        return len(self._states)

    def check(self, header: BatchHeader, expiration_ms: int, wall_ms: int) -> AppendedBatch | None:
        """Check that a batch may be appended. Returns the earlier result if it was appended before.

        As in Kafka, a new or expired producer may start with any sequence number.

        Raises:
            InvalidProducerEpochError: The epoch is older than that of another batch of the producer.
            OutOfOrderSequenceNumberError: The batch does not follow the producer's last batch.
        """
        state = self._states.get(header.producer_id)
        if state is None or header.producer_id == NO_PRODUCER_ID:
            return None
        if wall_ms - state.last_append_ms > expiration_ms:
            del self._states[header.producer_id]
            return None
        repeated = _repeated(state, header)
        if repeated is None:
            _check_next(state, header)
        return repeated

    def appended(self, header: BatchHeader, base_offset: int, timestamp_ms: int, wall_ms: int) -> None:
        """Remember a batch."""
        if header.producer_id == NO_PRODUCER_ID or header.base_sequence < 0:
            return
        state = self._states.get(header.producer_id)
        if state is None or state.epoch != header.producer_epoch:
            state = _ProducerState(header.producer_epoch, deque(maxlen=_REMEMBERED_BATCHES), wall_ms)
            self._states[header.producer_id] = state
        last_offset = base_offset + header.last_offset_delta
        state.batches.append(
            AppendedBatch(header.base_sequence, header.last_sequence, base_offset, last_offset, timestamp_ms)
        )
        state.last_append_ms = wall_ms


def _repeated(state: _ProducerState, header: BatchHeader) -> AppendedBatch | None:
    if state.epoch != header.producer_epoch:
        return None
    sequences = (header.base_sequence, header.last_sequence)
    return next((b for b in state.batches if (b.base_sequence, b.last_sequence) == sequences), None)


def _check_next(state: _ProducerState, header: BatchHeader) -> None:
    producer = f"producer {header.producer_id}"
    if header.producer_epoch < state.epoch:
        raise InvalidProducerEpochError(f"Epoch {header.producer_epoch} of {producer} is older than {state.epoch}.")
    expected = state.next_sequence if header.producer_epoch == state.epoch else 0
    if header.base_sequence != expected:
        raise OutOfOrderSequenceNumberError(
            f"{producer} in epoch {header.producer_epoch} sent sequence {header.base_sequence}, expected {expected}"
        )
