"""The meaning of EndTxn in each state: a change of the state, a repetition, or an error (KIP-98, KIP-890).

Up to `transaction.version` 1 the state alone tells a repeated request from a new one. From 2 on the epoch tells it: it
is the one before if the request is repeated, and the same in the next request.
"""

from attrs import frozen

from kafka_groups.broker.coordinators.transactions.states import TransactionEvent, TransactionState
from kafka_groups.broker.coordinators.transactions.transaction import FIRST_WITH_NEW_EPOCHS, LAST_EPOCH, Transaction
from kafka_groups.broker.log.entries import Producer
from kafka_groups.errors import (
    BrokerError,
    ConcurrentTransactionsError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    ProducerFencedError,
)

__all__ = ["EndRequest", "is_repeated", "mapping_error"]

_S = TransactionState


@frozen
class EndRequest:
    """A request to end a transaction.

    Attributes:
        producer: Who asks.
        committed: True for a commit, False for an abort.
        version: The version of transactions that the request means.
    """

    producer: Producer
    committed: bool
    version: int

    @property
    def event(self) -> TransactionEvent:
        """The event that it means for the transaction."""
        return TransactionEvent.COMMITTED if self.committed else TransactionEvent.ABORTED

    def expects(self, committing: TransactionState, aborting: TransactionState) -> TransactionState:
        """Return the one of two states that fits."""
        return committing if self.committed else aborting


def is_repeated(known: Transaction, request: EndRequest) -> bool:
    """Return whether the request has been carried out already, or raise an error if it cannot be.

    Raises:
        InvalidProducerIdMappingError: The id has another producer.
        ProducerFencedError: The producer has another epoch.
        ConcurrentTransactionsError: The partitions are getting their markers.
        InvalidTxnStateError: There is no transaction, or it ended in another way.
    """
    # The version of the request decides, and not what the id was last used with: Kafka has a method for each, too
    # (TransactionCoordinator.endTransaction, and endTransactionWithTV1 for the older requests).
    if request.version >= FIRST_WITH_NEW_EPOCHS:
        return _is_repeated_with_new_epochs(known, request)
    if known.producer_id != request.producer.producer_id:
        raise mapping_error(known, request.producer)
    # Up to version 1, a client's epoch only changes by InitProducerId, so a larger one is wrong as well
    # (TransactionCoordinator.endTransactionWithTV1).
    if known.producer_epoch != request.producer.epoch:
        raise _fenced(known, request.producer)
    # From here on only the state is left to tell a repeated request: it is one if the transaction has ended as this
    # request says. Empty matches neither state, so a producer that has begun nothing gets INVALID_TXN_STATE.
    if known.state is _S.ONGOING:
        return False
    _check_being_ended(known, request)
    if known.state is not request.expects(_S.COMPLETE_COMMIT, _S.COMPLETE_ABORT):
        raise _not_possible(known, request)
    return True


def mapping_error(known: Transaction, producer: Producer) -> BrokerError:
    """Return the error of a producer that is not the one of the id."""
    return InvalidProducerIdMappingError(f"The producer id is {known.producer_id}, and not {producer.producer_id}.")


def _is_repeated_with_new_epochs(known: Transaction, request: EndRequest) -> bool:
    producer = request.producer
    # There are two kinds of repeated requests, whose response was lost. In the first, the id has the next epoch now. In
    # the second, the epochs were used up, so that the id has a new producer id with epoch 0
    # (TransactionCoordinator.endTransaction).
    is_before_new_id = (
        known.previous_producer_id == producer.producer_id
        and producer.epoch == LAST_EPOCH - 1
        and known.producer_epoch == 0
    )
    is_before = known.producer_epoch == producer.epoch + 1
    if known.producer_id != producer.producer_id and not is_before_new_id:
        raise mapping_error(known, producer)
    # PRODUCER_FENCED comes before INVALID_TXN_STATE: Kafka looks at the state only if the epoch fits it.
    _check_epoch(known, producer, is_before=is_before, is_before_new_id=is_before_new_id)
    # A new request: `_check_epoch` allows only the current epoch here.
    if known.state is _S.ONGOING:
        return False
    _check_being_ended(known, request)
    # A repeated request, by its epoch. It must ask for what happened then.
    if is_before or is_before_new_id:
        if known.state is request.expects(_S.COMPLETE_COMMIT, _S.COMPLETE_ABORT):
            return True
        raise _not_possible(known, request)
    # A new request without a transaction. Nothing can be committed. An abort is carried out, because the producer may
    # not know whether its transaction has begun, and it increases the epoch.
    if request.committed:
        raise _not_possible(known, request)
    return False


def _check_epoch(known: Transaction, producer: Producer, *, is_before: bool, is_before_new_id: bool) -> None:
    is_same = producer.epoch == known.producer_epoch
    # Kafka allows an epoch by the state (TransactionCoordinator.endTransaction). Nothing has ended yet in this epoch,
    # so a repeated request is not possible: the epoch must be the current one.
    if known.state in (_S.ONGOING, _S.EMPTY):
        is_valid = is_same
    elif known.is_being_ended:
        # The epoch has increased when the end was written. Only the request that asked for it can come again.
        is_valid = is_before
    else:
        # The transaction has ended: either the producer repeats its request, or it aborts one that it has not begun.
        is_valid = is_same or is_before or is_before_new_id
    if not is_valid:
        raise _fenced(known, producer)


def _check_being_ended(known: Transaction, request: EndRequest) -> None:
    if not known.is_being_ended:
        return
    # CONCURRENT_TRANSACTIONS makes the client repeat the request until the markers are written. If the transaction is
    # ended in the other way, repeating would not help, so that is final.
    if known.state is request.expects(_S.PREPARE_COMMIT, _S.PREPARE_ABORT):
        raise ConcurrentTransactionsError("The partitions are getting the markers of the transaction.")
    raise _not_possible(known, request)


def _fenced(known: Transaction, producer: Producer) -> BrokerError:
    return ProducerFencedError(f"The epoch of the producer is {known.producer_epoch}, and not {producer.epoch}.")


def _not_possible(known: Transaction, request: EndRequest) -> BrokerError:
    return InvalidTxnStateError(f"A {request.event.value} is not possible in the state '{known.state}'.")
