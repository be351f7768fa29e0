import pytest

from kafka_groups.broker.share_partitions.record_state import (
    TERMINAL,
    TRANSITIONS,
    RecordEvent,
    RecordState,
    next_state,
)
from kafka_groups.errors import InvalidRecordStateError

A, Q, K, X = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
L = RecordState.ARCHIVING
E = RecordEvent

# One row per state, one column per event, in the order of the columns below; None is refused.
COLUMNS = (
    E.ACQUIRE, E.ACCEPT, E.RELEASE, E.EXHAUST, E.REJECT, E.GAP, E.RENEW, E.DISCARD, E.DEAD_LETTER, E.ARCHIVE
)  # fmt: skip
EXPECTED = {
    A: (Q, None, None, None, None, None, None, X, None, None),
    Q: (None, K, A, X, X, X, Q, None, L, None),
    K: (None,) * 10,
    L: (*(None,) * 9, X),
    X: (None,) * 10,
}
PAIRS = [(state, event, EXPECTED[state][i]) for state in RecordState for i, event in enumerate(COLUMNS)]


def test_the_table_here_knows_all_states_and_events() -> None:
    assert set(EXPECTED) == set(RecordState)
    assert set(COLUMNS) == set(RecordEvent)


@pytest.mark.parametrize(("state", "event", "after"), PAIRS, ids=lambda value: getattr(value, "name", "refused"))
def test_every_pair(state: RecordState, event: RecordEvent, after: RecordState | None) -> None:
    if after is None:
        with pytest.raises(InvalidRecordStateError, match=state.name):
            next_state(state, event)
    else:
        assert next_state(state, event) is after


def test_terminal_states_are_those_that_nothing_leaves() -> None:
    left = {state for state, _ in TRANSITIONS}
    assert set(RecordState) - left == TERMINAL


def test_the_numbers_are_those_of_kafkas_state_log() -> None:
    assert [state.value for state in (A, Q, K, L, X)] == [0, 1, 2, 3, 4]
