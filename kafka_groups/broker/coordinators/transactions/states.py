"""The states of a transactional id, as a transition table."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.errors import IllegalStateError

__all__ = ["TRANSACTION_TRANSITIONS", "TransactionEvent", "TransactionState", "next_transaction_state"]


class TransactionState(enum.StrEnum):
    """The state of a transactional id, with the name that DescribeTransactions and ListTransactions use."""

    EMPTY = "Empty"
    """A producer has begun, and has had no transaction since."""
    ONGOING = "Ongoing"
    """A transaction is open."""
    PREPARE_COMMIT = "PrepareCommit"
    """The transaction is committed: the partitions get their markers."""
    PREPARE_ABORT = "PrepareAbort"
    """The transaction is aborted: the partitions get their markers."""
    COMPLETE_COMMIT = "CompleteCommit"
    """All partitions know that the transaction was committed."""
    COMPLETE_ABORT = "CompleteAbort"
    """All partitions know that the transaction was aborted."""
    DEAD = "Dead"
    """The id was not used for long, and is forgotten."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """The producer gets a newer epoch. In Kafka it lasts for a moment, and no record has it."""

    @property
    def number(self) -> int:
        """The number of the state in records."""
        # The numbers are those of TransactionState.id in Kafka: the order of the states above is part of the format.
        return _NUMBERS[self]

    @classmethod
    def numbered(cls, number: int) -> "TransactionState | None":
        """Return the state with a number, or None."""
        return next((state for state, known in _NUMBERS.items() if known == number), None)


_NUMBERS: Mapping[TransactionState, int] = MappingProxyType({
    state: number for number, state in enumerate(TransactionState)
})  # fmt: skip


class TransactionEvent(enum.Enum):
    """An event that changes the state of a transactional id."""

    INITIALISED = "producer initialised"
    ADDED = "partitions added"
    COMMITTED = "commit"
    ABORTED = "abort"
    FENCED = "fenced or timed out"
    MARKED = "markers written"
    EXPIRED = "expired"


# Kafka lists the states that may come before each state (TransactionState.validPreviousStates). This table has the same
# pairs by event, without PrepareEpochFence: Kafka needs it between two steps of fencing, which are one step here.
_S, _E = TransactionState, TransactionEvent

TRANSACTION_TRANSITIONS: Mapping[tuple[TransactionState, TransactionEvent], TransactionState] = MappingProxyType({
    (_S.EMPTY, _E.INITIALISED): _S.EMPTY,
    (_S.EMPTY, _E.ADDED): _S.ONGOING,
    # With transaction.version 2, a producer that does not know whether its first batch has begun a transaction aborts
    # in any case: the abort also increases its epoch (TransactionCoordinator.endTransaction in Kafka). Up to version 1,
    # `is_repeated` refuses this before.
    (_S.EMPTY, _E.ABORTED): _S.PREPARE_ABORT,
    (_S.EMPTY, _E.EXPIRED): _S.DEAD,
    (_S.ONGOING, _E.ADDED): _S.ONGOING,
    (_S.ONGOING, _E.COMMITTED): _S.PREPARE_COMMIT,
    (_S.ONGOING, _E.ABORTED): _S.PREPARE_ABORT,
    # Only an open transaction needs to be ended to fence its producer. In other states the next epoch alone fences it.
    (_S.ONGOING, _E.FENCED): _S.PREPARE_ABORT,
    (_S.PREPARE_COMMIT, _E.MARKED): _S.COMPLETE_COMMIT,
    (_S.PREPARE_ABORT, _E.MARKED): _S.COMPLETE_ABORT,
    (_S.COMPLETE_COMMIT, _E.INITIALISED): _S.EMPTY,
    (_S.COMPLETE_COMMIT, _E.ADDED): _S.ONGOING,
    # As in the state Empty: with transaction.version 2, an empty transaction can be aborted.
    (_S.COMPLETE_COMMIT, _E.ABORTED): _S.PREPARE_ABORT,
    (_S.COMPLETE_COMMIT, _E.EXPIRED): _S.DEAD,
    (_S.COMPLETE_ABORT, _E.INITIALISED): _S.EMPTY,
    (_S.COMPLETE_ABORT, _E.ADDED): _S.ONGOING,
    (_S.COMPLETE_ABORT, _E.ABORTED): _S.PREPARE_ABORT,
    (_S.COMPLETE_ABORT, _E.EXPIRED): _S.DEAD,
})  # fmt: skip
"""(state, event) → state. A missing pair is a bug of the caller, or refused before."""


def next_transaction_state(state: TransactionState, event: TransactionEvent) -> TransactionState:
    """Return the state after the event.

    Raises:
        IllegalStateError: The event cannot happen in this state.
    """
    try:
        return TRANSACTION_TRANSITIONS[state, event]
    except KeyError:
        raise IllegalStateError(f"The event '{event.value}' is not possible in the state '{state}'.") from None
