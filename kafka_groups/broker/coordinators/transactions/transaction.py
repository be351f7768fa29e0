"""The state that is kept of a transactional id, and how each event changes it. There is no I/O and no clock."""

from typing import Any

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.transactions.states import (
    TransactionEvent,
    TransactionState,
    next_transaction_state,
)
from kafka_groups.broker.log.entries import Producer
from kafka_groups.types import TopicPartition

__all__ = ["FIRST_WITH_NEW_EPOCHS", "LAST_EPOCH", "NO_EPOCH", "NO_PRODUCER", "Transaction", "is_exhausted"]

NO_PRODUCER, NO_EPOCH = -1, -1
# An epoch is a signed 16-bit number in the protocol.
LAST_EPOCH = 0x7FFF
"""The newest epoch that there can be. Clients never get it, so that a producer can always be fenced."""
FIRST_WITH_NEW_EPOCHS = 2
"""`transaction.version` from which the epoch increases with each transaction (KIP-890)."""
_NOT_BEGUN = -1
_NOTHING: frozenset[TopicPartition] = frozenset()


def is_exhausted(epoch: int) -> bool:
    """Return whether a producer needs a new id instead of the next epoch."""
    # The last epoch is reserved for fencing, so the one before it is the last that a client gets
    # (TransactionMetadata.isEpochExhausted in Kafka).
    return epoch >= LAST_EPOCH - 1


@frozen(kw_only=True)
class Transaction:
    """A transactional id.

    Attributes:
        producer_id: The id of its producer.
        producer_epoch: The epoch, or -1 before the first.
        last_epoch: The epoch before, if the producer may repeat the request that has increased it. It is not stored.
        previous_producer_id: The producer id before the last change.
        next_producer_id: The producer id after the transaction that is being ended, if the epochs are used up.
        timeout_ms: The longest time that a transaction may take.
        state: The state.
        partitions: The partitions of the current transaction.
        start_ms: When it began, in milliseconds since the epoch, or -1.
        updated_ms: When the id was last used, in milliseconds since the epoch.
        client_version: The version of transactions that the producer uses.
    """

    producer_id: int
    producer_epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = _NOTHING
    start_ms: int = _NOT_BEGUN
    updated_ms: int
    client_version: int = 0

    @property
    def producer(self) -> Producer:
        """The producer that may use the id."""
        return Producer(self.producer_id, self.producer_epoch)

    @property
    def is_being_ended(self) -> bool:
        """True while partitions get their markers."""
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    def has_timed_out(self, wall_ms: int) -> bool:
        """Return whether a transaction is open for longer than its timeout."""
        # The timeout counts from the first partition of the transaction, however often partitions are added later
        # (TransactionStateManager.timedOutTransactions in Kafka). Kafka exempts transactions with two-phase commit
        # (KIP-939), which the embedded broker does not have.
        return self.state is TransactionState.ONGOING and self.start_ms + self.timeout_ms < wall_ms

    def has_expired(self, expiration_ms: int, wall_ms: int) -> bool:
        """Return whether the id was not used for longer than `transactional.id.expiration.ms`."""
        # Only an id without a transaction may go: Kafka allows Empty and the two Complete states
        # (TransactionStateManager.shouldExpire and TransactionState.isExpirationAllowed). An id in a Prepare state
        # still owes markers to its partitions.
        is_idle = self.state is not TransactionState.ONGOING and not self.is_being_ended
        return is_idle and self.updated_ms <= wall_ms - expiration_ms

    # ------------------------------------------------------------------------------------------- changes

    def with_next_epoch(self, timeout_ms: int, last_epoch: int, wall_ms: int) -> "Transaction":
        """Return it with the next epoch, for a producer that begins."""
        return self._initialised(Producer(self.producer_id, self.producer_epoch + 1), timeout_ms, last_epoch, wall_ms)

    def with_same_epoch(self, timeout_ms: int, wall_ms: int) -> "Transaction":
        """Return it for a producer that repeats its request for the epoch that it has."""
        return self._initialised(self.producer, timeout_ms, self.last_epoch, wall_ms)

    def with_new_producer(self, producer_id: int, timeout_ms: int, last_epoch: int, wall_ms: int) -> "Transaction":
        """Return it with a new producer id, because the epochs are used up."""
        return self._initialised(Producer(producer_id, 0), timeout_ms, last_epoch, wall_ms)

    def with_partitions(self, added: frozenset[TopicPartition], client_version: int, wall_ms: int) -> "Transaction":
        """Return it with more partitions. The first ones begin a transaction."""
        return self._changed(
            TransactionEvent.ADDED,
            wall_ms,
            partitions=self.partitions | added,
            # In the other states this is the first partition of a new transaction, whose timeout starts now
            # (TransactionMetadata.prepareAddPartitions).
            start_ms=self.start_ms if self.state is TransactionState.ONGOING else wall_ms,
            client_version=client_version,
        )

    def ending(
        self, event: TransactionEvent, client_version: int, next_producer_id: int, wall_ms: int
    ) -> "Transaction":
        """Return it in the state in which the partitions get their markers.

        Args:
            event: Whether it is committed, aborted or fenced.
            client_version: The version of transactions. From 2 on the markers have the next epoch.
            next_producer_id: The producer id afterwards, if the epochs are used up.
            wall_ms: The time. An empty transaction begins now.
        """
        is_fenced = event is TransactionEvent.FENCED
        # There are three cases. From version 2 on, the markers carry the next epoch, however the transaction ends
        # (KIP-890): a late batch of the transaction then has an old epoch and is refused. The epoch before is kept, so
        # that a repeated EndTxn is recognised. A producer whose epoch is the last already can still be aborted: its
        # epoch stays, as there is no larger one (TransactionMetadata.prepareAbortOrCommit).
        if client_version >= FIRST_WITH_NEW_EPOCHS:
            is_last = self.producer_epoch == LAST_EPOCH and event is not TransactionEvent.COMMITTED
            epoch, last_epoch = self.producer_epoch + (0 if is_last else 1), self.producer_epoch
        elif is_fenced:
            # Up to version 1, only a fenced producer gets another epoch. It forgets the epoch before, because the
            # fenced producer must not continue with it (TransactionMetadata.prepareFenceProducerEpoch, and
            # TransactionCoordinator.endTransactionWithTV1).
            epoch, last_epoch = min(self.producer_epoch + 1, LAST_EPOCH), NO_EPOCH
        else:
            # Up to version 1, a producer keeps its epoch when it commits or aborts.
            epoch, last_epoch = self.producer_epoch, self.last_epoch
        return self._changed(
            event,
            wall_ms,
            producer_epoch=epoch,
            last_epoch=last_epoch,
            next_producer_id=next_producer_id,
            # Only an empty transaction can be ended in another state: it has no first partition that could have started
            # it.
            start_ms=self.start_ms if self.state is TransactionState.ONGOING else wall_ms,
            client_version=client_version,
        )

    def ended(self, wall_ms: int) -> "Transaction":
        """Return it after all partitions got their markers."""
        # The markers have the old producer id. The new one counts only after the last marker is written, so that both
        # ids are never in use at once (TransactionMetadata.prepareComplete).
        has_next = self.client_version >= FIRST_WITH_NEW_EPOCHS and self.next_producer_id != NO_PRODUCER
        return self._changed(
            TransactionEvent.MARKED,
            wall_ms,
            producer_id=self.next_producer_id if has_next else self.producer_id,
            producer_epoch=0 if has_next else self.producer_epoch,
            next_producer_id=NO_PRODUCER,
            partitions=_NOTHING,
        )

    def _initialised(self, producer: Producer, timeout_ms: int, last_epoch: int, wall_ms: int) -> "Transaction":
        return self._changed(
            TransactionEvent.INITIALISED,
            wall_ms,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            last_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=_NOTHING,
            start_ms=_NOT_BEGUN,
        )

    def _changed(self, event: TransactionEvent, wall_ms: int, **changes: Any) -> "Transaction":
        state = next_transaction_state(self.state, event)
        return evolve(
            self, **{"previous_producer_id": self.producer_id, "state": state, "updated_ms": wall_ms, **changes}
        )
