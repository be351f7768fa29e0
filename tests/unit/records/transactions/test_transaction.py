"""The states of a transactional producer: every state and every event."""

import itertools

import pytest

from kafka_groups.errors import IllegalStateError
from kafka_groups.records.transactions.transaction import (
    WRITER_TRANSITIONS,
    WriterEvent,
    WriterState,
    next_writer_state,
)

_S, _E = WriterState, WriterEvent
PAIRS = list(itertools.product(WriterState, WriterEvent))
IMPOSSIBLE = {
    (state, event)
    for event, states in {
        _E.PREPARE: {_S.ABORTING},
        _E.INITIALISED: {_S.UNPREPARED, _S.READY, _S.OPEN, _S.COMMITTING, _S.COMMITTED, _S.ABORTING},
        _E.BEGIN: {_S.UNPREPARED, _S.PREPARING, _S.COMMITTED, _S.ABORTING},
        _E.COMMIT: {_S.UNPREPARED, _S.PREPARING, _S.ABORTING},
        _E.ENDED: {_S.UNPREPARED, _S.PREPARING, _S.READY, _S.OPEN, _S.COMMITTED},
        _E.CONCLUDE: set(_S) - {_S.COMMITTED},
        _E.ABORT: {_S.UNPREPARED, _S.PREPARING, _S.READY, _S.COMMITTED},
        _E.CLOSE: set(_S) - {_S.UNUSABLE},
    }.items()
    for state in states
}


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_every_event_is_decided_in_every_state(state: WriterState, event: WriterEvent) -> None:
    if (state, event) in IMPOSSIBLE:
        with pytest.raises(IllegalStateError, match=event.value):
            next_writer_state(state, event)
    else:
        assert next_writer_state(state, event) is WRITER_TRANSITIONS[state, event]


def test_nothing_but_these_pairs_is_in_the_table() -> None:
    assert set(WRITER_TRANSITIONS) == set(PAIRS) - IMPOSSIBLE


def test_a_transaction_from_its_beginning_to_its_commit() -> None:
    state = _S.UNPREPARED
    seen = []
    for event in (_E.PREPARE, _E.INITIALISED, _E.BEGIN, _E.BEGIN, _E.COMMIT, _E.ENDED, _E.CONCLUDE):
        state = next_writer_state(state, event)
        seen.append(state)
    assert seen == [_S.PREPARING, _S.READY, _S.OPEN, _S.OPEN, _S.COMMITTING, _S.COMMITTED, _S.READY]


def test_an_empty_transaction_is_committed_at_once() -> None:
    assert next_writer_state(_S.READY, _E.COMMIT) is _S.COMMITTED


def test_only_an_answer_that_a_producer_waits_for_makes_it_ready_or_committed() -> None:
    into = {state: {pair for pair, after in WRITER_TRANSITIONS.items() if after is state != pair[0]} for state in _S}
    assert into[_S.READY] == {(_S.PREPARING, _E.INITIALISED), (_S.COMMITTED, _E.CONCLUDE)}
    assert into[_S.COMMITTED] == {(_S.COMMITTING, _E.ENDED), (_S.READY, _E.COMMIT)}
    assert into[_S.PREPARING] == {(_S.UNPREPARED, _E.PREPARE)}


def test_a_lost_transaction_is_left_by_a_new_beginning_alone() -> None:
    out = {(event, after) for (state, event), after in WRITER_TRANSITIONS.items() if state is _S.LOST != after}
    assert out == {(_E.ABORT, _S.ABORTING), (_E.DROP, _S.UNPREPARED), (_E.FAIL, _S.UNUSABLE)}


def test_an_unusable_producer_stays_unusable() -> None:
    out = {(event, after) for (state, event), after in WRITER_TRANSITIONS.items() if state is _S.UNUSABLE != after}
    assert out == {(_E.CLOSE, _S.ABORTING)}
    assert {state for state, event in WRITER_TRANSITIONS if event is _E.CLOSE} == {_S.UNUSABLE}


def test_every_state_can_be_reached() -> None:
    reached, unseen = {_S.UNPREPARED}, [_S.UNPREPARED]
    while unseen:
        here = unseen.pop()
        for (state, _), after in WRITER_TRANSITIONS.items():
            if state is here and after not in reached:
                reached.add(after)
                unseen.append(after)
    assert reached == set(_S)
