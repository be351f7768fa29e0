"""The states of a transactional producer and of its transaction, as one table.

A producer has at most one transaction, so one state says where both are. Java has two tables, for the producer and for
its partitions (`TransactionManager.State` in Kafka), and tells errors that are fatal from errors that are abortable.
Here every lost transaction is answered in one way: with a new InitProducerId, which fences, aborts, and raises the
epoch.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.errors import IllegalStateError

__all__ = ["WRITER_TRANSITIONS", "WriterEvent", "WriterState", "next_writer_state"]


class WriterState(enum.StrEnum):
    """The state of a transactional producer."""

    UNPREPARED = "unprepared"
    """There is no producer id, and none was asked for."""
    PREPARING = "preparing"
    """InitProducerId is under way."""
    READY = "ready"
    """There is an id, and nothing was written since the last transaction."""
    OPEN = "open"
    """Something was written, or offsets were given: there is a transaction."""
    COMMITTING = "committing"
    """The transaction must be committed: as soon as everything is confirmed, or already asked for."""
    COMMITTED = "committed"
    """The transaction was committed, and the caller has not heard of it."""
    ABORTING = "aborting"
    """The transaction is being aborted, because the producer is dropped."""
    LOST = "lost"
    """The transaction cannot be committed any more, or the producer was fenced. A new InitProducerId helps."""
    UNUSABLE = "unusable"
    """An error that no new producer id overcomes, such as denied access."""


class WriterEvent(enum.Enum):
    """An event that changes the state."""

    PREPARE = "prepare"
    INITIALISED = "initialised"
    BEGIN = "begin"
    COMMIT = "commit"
    ENDED = "ended"
    CONCLUDE = "conclude"
    ABORT = "abort"
    CLOSE = "close"
    LOSE = "lose"
    FAIL = "fail"
    DROP = "drop"


_S, _E = WriterState, WriterEvent

_ANYWHERE: Mapping[WriterEvent, WriterState] = MappingProxyType({
    _E.LOSE: _S.LOST,
    _E.FAIL: _S.UNUSABLE,
    _E.DROP: _S.UNPREPARED,
})  # fmt: skip
"""The state after an event, from all states that are not named with it below."""

_NAMED: Mapping[tuple[WriterState, WriterEvent], WriterState] = MappingProxyType({
    (_S.UNPREPARED, _E.PREPARE): _S.PREPARING,
    # A batch of the producer that was dropped may still fail.
    (_S.UNPREPARED, _E.LOSE): _S.UNPREPARED,
    (_S.PREPARING, _E.PREPARE): _S.PREPARING,
    (_S.PREPARING, _E.INITIALISED): _S.READY,
    (_S.READY, _E.PREPARE): _S.READY,
    (_S.READY, _E.BEGIN): _S.OPEN,
    # An empty transaction: nothing is sent.
    (_S.READY, _E.COMMIT): _S.COMMITTED,
    (_S.OPEN, _E.PREPARE): _S.OPEN,
    (_S.OPEN, _E.BEGIN): _S.OPEN,
    (_S.OPEN, _E.COMMIT): _S.COMMITTING,
    (_S.OPEN, _E.ABORT): _S.ABORTING,
    (_S.COMMITTING, _E.PREPARE): _S.COMMITTING,
    # The last batches go out together with the offsets, perhaps again.
    (_S.COMMITTING, _E.BEGIN): _S.COMMITTING,
    (_S.COMMITTING, _E.COMMIT): _S.COMMITTING,
    (_S.COMMITTING, _E.ENDED): _S.COMMITTED,
    # Whether it was committed is not known. If so, the coordinator refuses the abort, and nothing changes.
    (_S.COMMITTING, _E.ABORT): _S.ABORTING,
    (_S.COMMITTED, _E.PREPARE): _S.COMMITTED,
    (_S.COMMITTED, _E.COMMIT): _S.COMMITTED,
    (_S.COMMITTED, _E.CONCLUDE): _S.READY,
    # Nothing that comes late changes that it was committed.
    (_S.COMMITTED, _E.LOSE): _S.COMMITTED,
    (_S.ABORTING, _E.ENDED): _S.UNPREPARED,
    (_S.ABORTING, _E.ABORT): _S.ABORTING,
    # Batches of the transaction fail while it is aborted.
    (_S.ABORTING, _E.LOSE): _S.ABORTING,
    # Writes are ignored until the producer is dropped, and the answer about its last transaction comes too late.
    (_S.LOST, _E.PREPARE): _S.LOST,
    (_S.LOST, _E.BEGIN): _S.LOST,
    (_S.LOST, _E.COMMIT): _S.LOST,
    (_S.LOST, _E.INITIALISED): _S.LOST,
    (_S.LOST, _E.ENDED): _S.LOST,
    (_S.LOST, _E.ABORT): _S.ABORTING,
    **{(_S.UNUSABLE, event): _S.UNUSABLE for event in _E if event is not _E.CONCLUDE},
    # What denies the next transaction need not deny the end of this one. Nothing but that may follow.
    (_S.UNUSABLE, _E.CLOSE): _S.ABORTING,
})  # fmt: skip

WRITER_TRANSITIONS: Mapping[tuple[WriterState, WriterEvent], WriterState] = MappingProxyType({
    **{(state, event): following for state in _S for event, following in _ANYWHERE.items()},
    **_NAMED,
})  # fmt: skip
"""(state, event) → state. A missing pair is a bug of the caller."""


def next_writer_state(state: WriterState, event: WriterEvent) -> WriterState:
    """Return the state after the event.

    Raises:
        IllegalStateError: The event cannot happen in this state.
    """
    try:
        return WRITER_TRANSITIONS[state, event]
    except KeyError:
        raise IllegalStateError(f"A producer that is {state.value} cannot do this: {event.value}.") from None
