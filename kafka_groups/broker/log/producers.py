"""The idempotent and transactional producers of a log: their epochs, and their last batches (KIP-98, KIP-890).

The last batches distinguish duplicates from gaps. A transaction begins in a log only after the leader has asked the
transaction coordinator about it. A `Verification` says so; it loses its meaning when the transaction ends.
"""

from collections import deque
from collections.abc import Iterator

from attrs import define, evolve, field, frozen

from kafka_groups.broker.log.batches import AppendRules
from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.log.log_transactions import LogTransactions
from kafka_groups.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    TransactionCoordinatorFencedError,
)
from kafka_groups.protocol.record_batch import NO_PRODUCER_ID, BatchHeader

__all__ = ["AppendedBatch", "ProducerState", "ProducerStates", "Verification"]

_REMEMBERED_BATCHES = 5  # the number that a producer may have in flight (max.in.flight.requests.per.connection)
_SEQUENCE_MASK = 0x7FFFFFFF
_FIRST_WITH_NEW_EPOCHS = 2
"""Version of transactions from which the epoch increases with each of them."""
_LAST_EPOCH = 0x7FFF
_SWEPT_FROM = 1_000
"""The number of producers from which those that have expired are looked for, whenever the number has doubled."""
_NO_EPOCH = -1


@frozen
class AppendedBatch:
    """A batch that a producer sent before."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp_ms: int


@define(eq=False)
class ProducerState:
    """A producer that the log remembers.

    Attributes:
        epoch: Its newest epoch.
        batches: Its last batches of that epoch.
        last_append_ms: When it or a coordinator last wrote for it.
        last_timestamp_ms: The timestamp of that.
        coordinator_epoch: The epoch of the coordinator that wrote its last marker, or -1.
    """

    epoch: int
    batches: deque[AppendedBatch]
    last_append_ms: int
    last_timestamp_ms: int
    coordinator_epoch: int = _NO_EPOCH

    @property
    def next_sequence(self) -> int:
        """The sequence number that its next batch must have."""
        # After 2^31 - 1 comes 0 (ProducerAppendInfo.inSequence in Kafka).
        return (self.batches[-1].last_sequence + 1) & _SEQUENCE_MASK if self.batches else 0


@define(eq=False)
class Verification:
    """The question whether a producer's transaction has this partition.

    Attributes:
        epoch: The newest epoch that the producer asked with.
        lowest_sequence: The lowest sequence number of that epoch. A higher one may not come first.
        adds: Whether the question adds the partition to the transaction (`transaction.version` 2).
        asked_ms: When it was first asked.
    """

    epoch: int
    lowest_sequence: int
    adds: bool
    asked_ms: int

    def note(self, epoch: int, sequence: int) -> None:
        """Note another batch."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


@define(eq=False)
class ProducerStates:
    """The producers of one partition, and its transactions."""

    transactions: LogTransactions = field(factory=LogTransactions)
    _states: dict[int, ProducerState] = field(factory=dict)
    _verifications: dict[int, Verification] = field(factory=dict)
    _sweep_at: int = _SWEPT_FROM

    def __len__(self) -> int:
        return len(self._states)

    def copy(self) -> "ProducerStates":
        """Return a copy, to go back to when appends are lost."""
        states = {id_: evolve(state, batches=state.batches.copy()) for id_, state in self._states.items()}
        return ProducerStates(self.transactions.copy(), states, dict(self._verifications), self._sweep_at)

    def active(self, expiration_ms: int, wall_ms: int) -> Iterator[tuple[int, ProducerState]]:
        """Return the producers that have not expired, by id."""
        return (each for each in sorted(self._states.items()) if not self._has_expired(*each, expiration_ms, wall_ms))

    def is_last_batch(self, header: BatchHeader) -> bool:
        """Return whether a batch is the last one that is remembered of its producer: compaction keeps its header."""
        state = self._states.get(header.producer_id)
        if state is None:
            return False
        # There are two cases, as in Kafka's cleaner (UnifiedLog.lastRecordsOfActiveProducers). The last batch has the
        # producer's sequence number. If only a marker is left, it has the epoch, which fences older producers.
        if state.batches:
            return state.batches[-1].last_offset == header.last_offset
        return header.is_control and header.producer_epoch == state.epoch

    # ------------------------------------------------------------------------------------- verification

    def begin_verification(self, producer: Producer, sequence: int, wall_ms: int, *, adds: bool) -> Verification | None:
        """Return what must be verified before a batch is appended, or None if its transaction is open already.

        Raises:
            InvalidProducerEpochError: The epoch is older than that of another batch of the producer.
        """
        # In an open transaction no question is needed: the coordinator has the partition since the first batch
        # (UnifiedLog.maybeStartTransactionVerification in Kafka).
        if self._is_open(producer):
            return None
        self._check_not_older(producer)
        # Batches of one producer share a question until a batch is appended or the transaction ends. `adds` is that of
        # the first.
        verification = self._verifications.get(producer.producer_id)
        if verification is None:
            verification = Verification(producer.epoch, sequence, adds, wall_ms)
            self._verifications[producer.producer_id] = verification
        verification.note(producer.epoch, sequence)
        return verification

    def check_transaction(self, producer: Producer, verification: Verification | None, *, enabled: bool = True) -> None:
        """Check that a producer's transaction is open, or was verified.

        Args:
            producer: The producer.
            verification: What was verified for this batch.
            enabled: Whether it has to be (`transaction.partition.verification.enable`).

        Raises:
            InvalidProducerEpochError: The epoch is older than that of another batch of the producer.
            InvalidTxnStateError: The transaction was not verified, or it has ended since.
        """
        # There are two phases (UnifiedLog.analyzeAndValidateProducerState in Kafka). Before its first batch, a
        # transaction needs an answer of the coordinator. After it, the open transaction in this log is proof enough.
        if self._is_open(producer):
            return
        self._check_not_older(producer)
        # Kafka compares guards by identity, too (VerificationGuard.verify). Otherwise an answer could count for the
        # wrong transaction: one is verified, aborted by a timeout, and the next one begins without this partition.
        known = self._verifications.get(producer.producer_id)
        if enabled and (verification is None or known is not verification):
            raise InvalidTxnStateError("The record was not part of an ongoing transaction.")

    # ------------------------------------------------------------------------------------------ batches

    def check(
        self, header: BatchHeader, rules: AppendRules, wall_ms: int, verification: Verification | None = None
    ) -> AppendedBatch | None:
        """Check that a batch may be appended. Returns the earlier result if it was appended before.

        As in Kafka, a new or expired producer may start with any sequence number, except in transactions of version 2.

        Raises:
            InvalidProducerEpochError: The epoch is older than that of another batch of the producer.
            InvalidTxnStateError: The batch and the producer's open transaction do not fit.
            OutOfOrderSequenceNumberError: The batch does not follow the producer's last batch.
        """
        # A producer without an id is not idempotent: nothing of it is remembered.
        if header.producer_id == NO_PRODUCER_ID:
            return None
        producer_id = header.producer_id
        state = self._states.get(producer_id)
        # Kafka removes expired producers by a timer (ProducerStateManager.removeExpiredProducers). Here they go when
        # they write, and all together when there are many, so a log that nobody writes to needs no timer.
        if state is not None and self._has_expired(producer_id, state, rules.producer_expiration_ms, wall_ms):
            del self._states[producer_id]
            state = None
        if len(self) + len(self._verifications) >= self._sweep_at:
            self._sweep(rules.producer_expiration_ms, wall_ms)
        # A repeated batch is found before anything is checked, so it gets its former result even if its transaction has
        # ended.
        repeated = None if state is None else _repeated(state, header)
        if repeated is not None:
            return repeated
        self._check_new(header, state, verification, rules)
        return None

    def appended(self, header: BatchHeader, base_offset: int, timestamp_ms: int, wall_ms: int) -> None:
        """Remember a batch."""
        # Without a producer id or a sequence number there is nothing to compare later batches with.
        if header.producer_id == NO_PRODUCER_ID or header.base_sequence < 0:
            return
        state = self._state(Producer(header.producer_id, header.producer_epoch), timestamp_ms, wall_ms)
        last_offset = base_offset + header.last_offset_delta
        state.batches.append(
            AppendedBatch(header.base_sequence, header.last_sequence, base_offset, last_offset, timestamp_ms)
        )
        if header.is_transactional:
            self._begun(header.producer_id, base_offset)

    def appended_by_coordinator(self, producer: Producer, base_offset: int, wall_ms: int) -> None:
        """Remember records that a coordinator wrote as part of a producer's transaction."""
        self._state(producer, wall_ms, wall_ms)
        self._begun(producer.producer_id, base_offset)

    # ------------------------------------------------------------------------------------------ markers

    def check_marker(self, marker: EndMarker) -> None:
        """Check that a marker may be appended.

        Raises:
            InvalidProducerEpochError: The epoch is too old. From version 2 on it must be newer than that of the
                records, unless the transaction has ended and the marker is repeated (KIP-1228).
            TransactionCoordinatorFencedError: A newer coordinator has written a marker of the producer.
        """
        producer_id, epoch = marker.producer.producer_id, marker.producer.epoch
        state = self._states.get(producer_id)
        # A marker without a known producer is accepted: its records may have been deleted, or there were none.
        if state is None:
            return
        # Up to version 1, a marker has the epoch of the records. From version 2 on it has the next one, so an equal
        # epoch is refused as that of an older request (ProducerAppendInfo.checkProducerEpoch in Kafka).
        must_be_newer = marker.version >= _FIRST_WITH_NEW_EPOCHS
        if epoch < state.epoch or (must_be_newer and epoch == state.epoch and not self._may_repeat(producer_id, epoch)):
            raise InvalidProducerEpochError(
                f"The marker of producer {producer_id} has epoch {epoch}, {state.epoch} was."
            )
        # Two coordinators may both believe that they are in charge. The one with the older epoch must not end a
        # transaction after the newer one has (ProducerAppendInfo.checkCoordinatorEpoch).
        if marker.coordinator_epoch < state.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"The coordinator epoch {marker.coordinator_epoch} is older than {state.coordinator_epoch}."
            )

    def ended(self, marker: EndMarker, offset: int, high_watermark: int, wall_ms: int) -> None:
        """Remember a marker."""
        producer_id = marker.producer.producer_id
        state = self._state(marker.producer, wall_ms, wall_ms)
        state.coordinator_epoch = marker.coordinator_epoch
        self.transactions.ended(producer_id, offset, high_watermark, committed=marker.committed)
        verification = self._verifications.get(producer_id)
        # The answer to an open question was about the transaction that has ended, so it must not begin one now. In
        # version 2 a marker has the epoch of the producer's next transaction, whose question may be under way and stays
        # (UnifiedLog.updateProducers in Kafka).
        if verification is not None and not (verification.adds and verification.epoch == marker.producer.epoch):
            del self._verifications[producer_id]

    # ------------------------------------------------------------------------------------------ insides

    def _may_repeat(self, producer_id: int, epoch: int) -> bool:
        # There are two cases in which a marker with the same epoch is a repetition
        # (ProducerAppendInfo.checkProducerEpoch). The transaction has ended already. Or the epoch is the last one,
        # after which there is no newer one.
        return self.transactions.first_offset_of(producer_id) is None or epoch == _LAST_EPOCH

    def _is_open(self, producer: Producer) -> bool:
        state = self._states.get(producer.producer_id)
        # An open transaction of another epoch is not the one that is meant (UnifiedLog.hasOngoingTransaction).
        is_open = self.transactions.first_offset_of(producer.producer_id) is not None
        return is_open and state is not None and state.epoch == producer.epoch

    def _begun(self, producer_id: int, offset: int) -> None:
        self.transactions.begun(producer_id, offset)
        self._verifications.pop(producer_id, None)

    def _state(self, producer: Producer, timestamp_ms: int, wall_ms: int) -> ProducerState:
        """Return the state of a producer that writes, in this epoch."""
        state = self._states.get(producer.producer_id)
        if state is None:
            state = ProducerState(producer.epoch, deque(maxlen=_REMEMBERED_BATCHES), wall_ms, timestamp_ms)
            self._states[producer.producer_id] = state
        # Sequence numbers begin anew with each epoch, so batches of the old one can neither be repeated nor continued
        # (ProducerStateEntry.maybeUpdateProducerEpoch).
        if state.epoch != producer.epoch:
            state.epoch = producer.epoch
            state.batches.clear()
        state.last_append_ms, state.last_timestamp_ms = wall_ms, timestamp_ms
        return state

    def _has_expired(self, producer_id: int, state: ProducerState, expiration_ms: int, wall_ms: int) -> bool:
        # A producer with an open transaction never expires, or its transaction would stay open forever
        # (ProducerStateManager.isProducerExpired). Kafka counts from the timestamp of the last batch. Here the time of
        # the append counts: timestamps are chosen by producers, and old ones must not make it forget a producer that is
        # active.
        is_open = self.transactions.first_offset_of(producer_id) is not None
        return not is_open and wall_ms - state.last_append_ms > expiration_ms

    def forget_idle(self) -> None:
        """Forget the producers that have no open transaction, as after `producer.id.expiration.ms`."""
        is_open = self.transactions.first_offset_of
        self._states = {id_: state for id_, state in self._states.items() if is_open(id_) is not None}

    def _sweep(self, expiration_ms: int, wall_ms: int) -> None:
        """Forget the producers that have expired, and old questions that nobody has come back with."""
        for producer_id, state in tuple(self._states.items()):
            if self._has_expired(producer_id, state, expiration_ms, wall_ms):
                del self._states[producer_id]
        for producer_id, verification in tuple(self._verifications.items()):
            if wall_ms - verification.asked_ms > expiration_ms:
                del self._verifications[producer_id]
        self._sweep_at = max(_SWEPT_FROM, 2 * (len(self) + len(self._verifications)))

    def _check_not_older(self, producer: Producer) -> None:
        state = self._states.get(producer.producer_id)
        if state is not None and producer.epoch < state.epoch:
            raise InvalidProducerEpochError(
                f"Epoch {producer.epoch} of producer {producer.producer_id} is older than {state.epoch}."
            )

    def _check_new(
        self, header: BatchHeader, state: ProducerState | None, verification: Verification | None, rules: AppendRules
    ) -> None:
        producer = Producer(header.producer_id, header.producer_epoch)
        if header.is_transactional:
            self.check_transaction(producer, verification, enabled=rules.verifies_transactions)
        # The order of the checks decides which error a producer gets. Kafka has the same: the transaction, the epoch,
        # the sequence number, and the transaction of a batch that has none (ProducerAppendInfo.appendDataBatch).
        self._check_not_older(producer)
        self._check_first(header, state)
        if state is not None:
            _check_next(state, header)
        if not header.is_transactional and self.transactions.first_offset_of(producer.producer_id) is not None:
            raise InvalidTxnStateError(f"Producer {producer.producer_id} has an open transaction in this partition.")

    def _check_first(self, header: BatchHeader, state: ProducerState | None) -> None:
        # See ProducerAppendInfo.checkSequence in Kafka for both rules. With version 2, a transaction in a partition
        # where nothing is known of its producer has to begin with 0, so a lost first batch is noticed. And while a
        # lower number waits for its answer, a higher one is refused, because the lower one could never be appended
        # after it.
        verification = self._verifications.get(header.producer_id)
        if verification is None:
            return
        has_batches = state is not None and state.batches
        if (verification.adds and header.base_sequence != 0 and not has_batches) or (
            header.base_sequence > verification.lowest_sequence
        ):
            raise OutOfOrderSequenceNumberError(
                f"producer {header.producer_id} begins with sequence {header.base_sequence}, expected "
                f"{0 if verification.adds and not has_batches else verification.lowest_sequence}"
            )


def _repeated(state: ProducerState, header: BatchHeader) -> AppendedBatch | None:
    # Only batches of the current epoch are remembered (ProducerStateEntry.findDuplicateBatch). Kafka also compares the
    # first and the last number: a batch that was split is not a repetition.
    if state.epoch != header.producer_epoch:
        return None
    sequences = (header.base_sequence, header.last_sequence)
    return next((b for b in state.batches if (b.base_sequence, b.last_sequence) == sequences), None)


def _check_next(state: ProducerState, header: BatchHeader) -> None:
    # A new epoch begins with 0 (ProducerAppendInfo.checkSequence).
    expected = state.next_sequence if header.producer_epoch == state.epoch else 0
    if header.base_sequence != expected:
        raise OutOfOrderSequenceNumberError(
            f"producer {header.producer_id} in epoch {header.producer_epoch} sent sequence {header.base_sequence}, "
            f"expected {expected}"
        )
