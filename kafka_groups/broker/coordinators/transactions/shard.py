"""One shard of the transaction coordinator: the transactional ids of one partition of `__transaction_state`.

An operation validates first and then returns records. Only `replay` changes transactions. What an operation changes
directly is soft: which partitions have got their markers, and when something is checked next.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from attrs import evolve

from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.broker.coordinators.shard import LogUpkeep, NoTransactions
from kafka_groups.broker.coordinators.transactions.effects import WriteMarkers
from kafka_groups.broker.coordinators.transactions.ending import EndRequest, is_repeated, mapping_error
from kafka_groups.broker.coordinators.transactions.records import TransactionRecord
from kafka_groups.broker.coordinators.transactions.settings import TransactionRules
from kafka_groups.broker.coordinators.transactions.states import TransactionEvent, TransactionState
from kafka_groups.broker.coordinators.transactions.transaction import (
    FIRST_WITH_NEW_EPOCHS,
    NO_EPOCH,
    NO_PRODUCER,
    Transaction,
    is_exhausted,
)
from kafka_groups.broker.log.entries import Producer
from kafka_groups.errors import (
    BrokerError,
    ConcurrentTransactionsError,
    InvalidProducerIdMappingError,
    InvalidTransactionTimeoutError,
    ProducerFencedError,
    TransactionAbortableError,
    TransactionalIdNotFoundError,
    UnknownServerError,
)
from kafka_groups.types import TopicPartition

__all__ = ["TransactionShard"]

_AT_ONCE = 1_000
"""The number of transactional ids that are looked at together."""

Initialised = Result[Producer | BrokerError, TransactionRecord]


class TransactionShard(NoTransactions):
    """Transactional ids with their producers and transactions.

    Args:
        rules: The settings and sources.
    """

    def __init__(self, rules: TransactionRules) -> None:
        self._rules = rules
        self._known: dict[str, Transaction] = {}
        self._ongoing: dict[str, None] = {}
        self._unmarked: dict[str, set[TopicPartition]] = {}
        self._next_timeouts_ms = 0
        self._next_expiry_ms = 0
        self._expiring: Iterator[str] = iter(())

    def __repr__(self) -> str:
        return f"<TransactionShard: {len(self._known)} ids, {len(self._ongoing)} open transactions>"

    # ----------------------------------------------------------------------------------------- hard state

    def replay(self, record: TransactionRecord, offset: int, producer: Producer | None = None) -> None:
        """Apply a record of the log."""
        # Only `__consumer_offsets` takes records that belong to a producer's transaction. Records of ids count at once.
        if producer is not None:
            raise self.refused(producer)
        id_, value = record.transactional_id, record.value
        self._unmarked.pop(id_, None)
        self._ongoing.pop(id_, None)
        if value is None:
            self._known.pop(id_, None)
            return
        self._known[id_] = value
        # Two kinds of ids need work without a request: an open transaction may time out, and one that is being ended
        # owes markers.
        if value.state is TransactionState.ONGOING:
            self._ongoing[id_] = None
        elif value.is_being_ended:
            self._unmarked[id_] = set(value.partitions)

    def loaded(self, now_ms: int, wall_ms: int) -> Iterator[Result[None, TransactionRecord]]:
        """Return the markers that are still to be written."""
        self._next_timeouts_ms = now_ms + self._rules.timeout_check_ms
        self._next_expiry_ms = now_ms + self._rules.expiration_check_ms
        ids = iter(tuple(self._known))
        # Kafka also sends the markers of all transactions in a Prepare state again after loading
        # (TransactionStateManager.loadTransactionsForTxnTopicPartition). It goes in parts here, so that one turn of the
        # event loop stays short.
        while some := tuple(islice(ids, _AT_ONCE)):
            yield Result(None, effects=tuple(effect for id_ in some for effect in self._begun(id_)))

    def metadata_changed(self, now_ms: int, wall_ms: int) -> Result[None, TransactionRecord]:
        """Do nothing: the writer of markers notices that a partition is gone."""
        return Result(None)

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None."""
        # Idle ids need the rarer check only.
        if self._ongoing:
            return min(self._next_timeouts_ms, self._next_expiry_ms)
        return self._next_expiry_ms if self._known else None

    def expire(self, now_ms: int, wall_ms: int) -> Result[None, TransactionRecord]:
        """Abort transactions that have timed out, and forget ids that were not used for long."""
        records: list[TransactionRecord] = []
        effects: list[Effect] = []
        # A transaction that has timed out is aborted with a new epoch, so that its producer cannot continue it
        # (TransactionCoordinator.abortTimedOutTransactions in Kafka).
        if now_ms >= self._next_timeouts_ms:
            self._next_timeouts_ms = now_ms + self._rules.timeout_check_ms
            for id_ in tuple(self._ongoing):
                if self._known[id_].has_timed_out(wall_ms):
                    ended = self._fence(id_, wall_ms)
                    records += ended.records
                    effects += ended.effects
        if now_ms >= self._next_expiry_ms:
            records += self._expired(now_ms, wall_ms)
        return Result(None, tuple(records), tuple(effects))

    def tidy(self, log: LogUpkeep, wall_ms: int) -> tuple[TransactionRecord, ...]:
        """Compact the log when more than half of its records are not needed."""
        log.compact_some()
        return ()

    # ------------------------------------------------------------------------------------------ questions

    def described(self, transactional_id: str) -> Transaction:
        """Return a transactional id. Its partitions are those that have no marker yet.

        Raises:
            TransactionalIdNotFoundError: It does not exist.
        """
        known = self._known.get(transactional_id)
        if known is None:
            raise TransactionalIdNotFoundError(f"The transactional id '{transactional_id}' does not exist.")
        # Kafka removes a partition from the transaction when its marker is written, so DescribeTransactions shows the
        # rest (TransactionMetadata.removePartition). That is not stored, neither here nor in Kafka.
        unmarked = self._unmarked.get(transactional_id)
        return known if unmarked is None else evolve(known, partitions=frozenset(unmarked))

    def items(self) -> Iterator[tuple[str, Transaction]]:
        """Return all transactional ids."""
        return iter(self._known.items())

    # ----------------------------------------------------------------------------------------- operations

    def initialise(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None, wall_ms: int
    ) -> Initialised:
        """Give a producer its id and epoch, and fence those before it. An open transaction is aborted first.

        Args:
            transactional_id: The transactional id.
            timeout_ms: The longest time that a transaction of the producer may take.
            expected: The id and epoch that the producer has, if it continues after an error (KIP-360).
            wall_ms: The time.

        Raises:
            InvalidTransactionTimeoutError: The timeout is not allowed.
            ProducerFencedError: Another producer has begun in the meantime.
            UnknownServerError: The epochs are used up, and the producer names an older one than the last.
            ConcurrentTransactionsError: A transaction is being ended. As a response, if it has been aborted now.
        """
        # See TransactionStateManager.validateTransactionTimeoutMs in Kafka. The checks that follow have the order of
        # TransactionCoordinator.prepareInitProducerIdTransit.
        if not 0 < timeout_ms <= self._rules.max_timeout_ms:
            raise InvalidTransactionTimeoutError(
                f"The timeout of {timeout_ms} ms is not between 1 and {self._rules.max_timeout_ms} ms."
            )
        known = self._known.get(transactional_id)
        if known is None:
            known = Transaction(producer_id=self._rules.new_producer_id(), timeout_ms=timeout_ms, updated_ms=wall_ms)
        # A producer that names its id and epoch wants to continue after an error (KIP-360). It is fenced if another
        # producer has begun since.
        if expected is not None and not _may_go_on(known, expected):
            raise ProducerFencedError(f"The producer id is {known.producer_id}, and not {expected.producer_id}.")
        # The client repeats its request until the markers are written.
        if known.is_being_ended:
            raise _concurrent()
        # The open transaction is aborted with an epoch that no client ever gets. The producer has to ask again, which
        # increases the epoch a second time, or gives it a new id if the abort has used up the epochs.
        if known.state is TransactionState.ONGOING:
            ended = self._fence(transactional_id, wall_ms)
            return Result(_concurrent(), ended.records, ended.effects)
        begun = self._with_next_epoch(known, timeout_ms, expected, wall_ms)
        return Result(begun.producer, (self._record(transactional_id, begun),))

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        version: int,
        wall_ms: int,
    ) -> Result[None, TransactionRecord]:
        """Add partitions to a transaction. The first ones begin it.

        Raises:
            ConcurrentTransactionsError: The transaction before is being ended.
            InvalidProducerIdMappingError: The id does not exist, or has another producer.
            ProducerFencedError: The producer has another epoch.
        """
        ending = self._known.get(transactional_id)
        if ending is not None and ending.is_being_ended:
            raise _concurrent()  # as in Kafka, for every producer: it may have the next id already
        known = self._of_producer(transactional_id, producer)
        # Nothing would change, so nothing is written (TransactionCoordinator.handleAddPartitionsToTransaction).
        if known.state is TransactionState.ONGOING and known.partitions.issuperset(partitions):
            return Result(None)
        added = known.with_partitions(frozenset(partitions), version, wall_ms)
        return Result(None, (self._record(transactional_id, added),))

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> Result[dict[TopicPartition, BrokerError], TransactionRecord]:
        """Return the error of each partition that is not part of a transaction.

        Raises:
            BrokerError: As for `add_partitions`.
        """
        known = self._of_producer(transactional_id, producer)
        # Brokers ask this before the first batch of a transaction is appended
        # (TransactionCoordinator.handleVerifyPartitionsInTransaction). TRANSACTION_ABORTABLE says that the producer may
        # abort and go on with its id and epoch.
        missing = [each for each in partitions if each not in known.partitions]
        return Result({each: TransactionAbortableError(f"{each} is not part of the transaction.") for each in missing})

    def end(self, transactional_id: str, request: EndRequest, wall_ms: int) -> Result[Producer, TransactionRecord]:
        """Commit or abort a transaction, and return the producer's next id and epoch.

        Raises:
            BrokerError: See `is_repeated`.
        """
        known = self._known.get(transactional_id)
        if known is None:
            raise _unknown(transactional_id)
        # A repeated request gets the id and epoch of today, which the lost response had as well.
        if is_repeated(known, request):
            return Result(known.producer)
        return self._end(transactional_id, request.event, request.version, wall_ms)

    def markers_written(
        self, effect: WriteMarkers, partitions: Collection[TopicPartition], wall_ms: int
    ) -> Result[None, TransactionRecord]:
        """Note that partitions have their markers, or are gone. After the last one the transaction has ended."""
        known = self._known.get(effect.transactional_id)
        # Markers may be reported late: the id may have completed this transaction, be in another one with another
        # epoch, or be forgotten.
        if known is None or not known.is_being_ended or known.producer != effect.producer:
            return Result(None)
        unmarked = self._unmarked[effect.transactional_id]
        unmarked.difference_update(partitions)
        if unmarked:
            return Result(None)
        return Result(None, (self._record(effect.transactional_id, known.ended(wall_ms)),))

    # -------------------------------------------------------------------------------------------- insides

    def _of_producer(self, transactional_id: str, producer: Producer) -> Transaction:
        known = self._known.get(transactional_id)
        if known is None:
            raise _unknown(transactional_id)
        # Kafka checks in this order: the producer id, the epoch, the state. Any other epoch is refused, a larger one,
        # too.
        if known.producer_id != producer.producer_id:
            raise mapping_error(known, producer)
        if known.producer_epoch != producer.epoch:
            raise ProducerFencedError(f"The epoch of the producer is {known.producer_epoch}, and not {producer.epoch}.")
        if known.is_being_ended:
            raise _concurrent()
        return known

    def _with_next_epoch(
        self, known: Transaction, timeout_ms: int, expected: Producer | None, wall_ms: int
    ) -> Transaction:
        epoch = known.producer_epoch
        # The id has no epoch yet if it was forgotten and is created by this request: then the producer continues with a
        # new producer id, whatever epoch it had (TransactionMetadata.prepareIncrementProducerEpoch).
        goes_on = expected is not None and (epoch in (NO_EPOCH, expected.epoch))
        # There are four cases. First, the epochs are used up, so the producer gets a new id. Kafka fails if it names
        # another epoch, even if it repeats the request that gave it the last one
        # (TransactionMetadata.prepareIncrementProducerEpoch).
        if is_exhausted(epoch):
            if expected is not None and expected.epoch != epoch:
                raise UnknownServerError(f"Producer {known.producer_id} has no epoch after {epoch}.")
            # A producer that begins has no request to repeat, so none is remembered
            # (TransactionMetadata.prepareProducerIdRotation).
            last = NO_EPOCH if expected is None else epoch
            return known.with_new_producer(self._rules.new_producer_id(), timeout_ms, last, wall_ms)
        # Second, the next epoch, for a producer that begins or continues.
        if expected is None or goes_on:
            return known.with_next_epoch(timeout_ms, epoch if goes_on else NO_EPOCH, wall_ms)
        # Third, the producer repeats the request that has increased its epoch. Nobody else can have begun since: that
        # would have reset the last epoch (TransactionMetadata.prepareIncrementProducerEpoch).
        if expected.epoch == known.last_epoch:
            return known.with_same_epoch(timeout_ms, wall_ms)
        # Fourth, another producer has begun since.
        raise ProducerFencedError(f"The epoch of the producer is {epoch}, and not {expected.epoch}.")

    def _fence(self, transactional_id: str, wall_ms: int) -> Result[Producer, TransactionRecord]:
        # No client asks for this, so there is no version of a request: the level of the feature decides, as in Kafka
        # (TransactionStateManager.transactionVersionLevel).
        return self._end(transactional_id, TransactionEvent.FENCED, self._rules.version(), wall_ms)

    def _end(
        self, transactional_id: str, event: TransactionEvent, version: int, wall_ms: int
    ) -> Result[Producer, TransactionRecord]:
        known = self._known[transactional_id]
        has_new_epochs = version >= FIRST_WITH_NEW_EPOCHS
        # The epoch increases with this end. If the last one that clients may have is used, the producer continues with
        # a new id.
        needs_id = has_new_epochs and is_exhausted(known.producer_epoch)
        next_id = self._rules.new_producer_id() if needs_id else NO_PRODUCER
        ending = known.ending(event, version if has_new_epochs else 0, next_id, wall_ms)
        record = self._record(transactional_id, ending)
        # The response does not wait for the markers, and has the id and epoch of the next transaction already.
        return Result(ending.ended(wall_ms).producer, (record,), (_markers(transactional_id, ending),))

    def _begun(self, transactional_id: str) -> Iterator[Effect]:
        """Begin to look after an id that was loaded. The epoch before is not stored."""
        # So a producer that repeats InitProducerId after the coordinator has moved is fenced. In Kafka as well: the
        # record has no field for the epoch before.
        known = self._known[transactional_id] = evolve(self._known[transactional_id], last_epoch=NO_EPOCH)
        if known.is_being_ended:
            yield _markers(transactional_id, known)

    def _expired(self, now_ms: int, wall_ms: int) -> list[TransactionRecord]:
        """Look at the next few ids. The others come with the next calls."""
        some = tuple(islice(self._expiring, _AT_ONCE))
        if not some:
            self._expiring = iter(tuple(self._known))
            some = tuple(islice(self._expiring, _AT_ONCE))
        self._next_expiry_ms = now_ms + (1 if len(some) == _AT_ONCE else self._rules.expiration_check_ms)
        has_expired: Callable[[str], bool] = lambda id_: (  # noqa: E731
            id_ in self._known and self._known[id_].has_expired(self._rules.id_expiration_ms, wall_ms)
        )
        return [TransactionRecord(id_, None) for id_ in some if has_expired(id_)]

    def _record(self, transactional_id: str, value: Transaction) -> TransactionRecord:
        # Version 1 of the record has tagged fields, which older brokers cannot read. It is written from level 1 of the
        # feature on (TransactionVersion.transactionLogValueVersion in Kafka).
        return TransactionRecord(transactional_id, value, version=min(self._rules.version(), 1))


def _may_go_on(known: Transaction, expected: Producer) -> bool:
    # The three cases of TransactionCoordinator.prepareInitProducerIdTransit. The id was just created, so nobody else
    # has begun. Or the producer has the id, and its epoch is compared later.
    if known.producer_epoch == NO_EPOCH or expected.producer_id == known.producer_id:
        return True
    # Or the epochs were used up, and the producer repeats the request that gave it the new id.
    return expected.producer_id == known.previous_producer_id and is_exhausted(expected.epoch)


def _markers(transactional_id: str, ending: Transaction) -> WriteMarkers:
    committed = ending.state is TransactionState.PREPARE_COMMIT
    return WriteMarkers(transactional_id, ending.producer, committed, ending.client_version, ending.partitions)


def _concurrent() -> BrokerError:
    return ConcurrentTransactionsError("The transaction before is being ended.")


def _unknown(transactional_id: str) -> BrokerError:
    return InvalidProducerIdMappingError(f"The transactional id '{transactional_id}' does not exist.")
