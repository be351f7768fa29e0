"""Every pair of state and event of a classic group."""

import pytest

from kafka_groups.broker.coordinators.groups.classic.states import (
    ClassicGroupEvent,
    ClassicGroupState,
    next_classic_group_state,
)
from kafka_groups.errors import IllegalStateError

S, E = ClassicGroupState, ClassicGroupEvent

ALLOWED = {
    E.REBALANCE: ({S.EMPTY, S.STABLE, S.COMPLETING_REBALANCE}, S.PREPARING_REBALANCE),
    E.JOINED: ({S.PREPARING_REBALANCE}, S.COMPLETING_REBALANCE),
    E.EMPTIED: ({S.PREPARING_REBALANCE}, S.EMPTY),
    E.SYNCED: ({S.COMPLETING_REBALANCE}, S.STABLE),
    E.DELETED: (set(S) - {S.DEAD}, S.DEAD),
}


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("event", E)
def test_transition(state: ClassicGroupState, event: ClassicGroupEvent) -> None:
    sources, target = ALLOWED[event]
    if state in sources:
        assert next_classic_group_state(state, event) is target
    else:
        with pytest.raises(IllegalStateError, match=f"'{event.value}' is not possible in the group state '{state}'"):
            next_classic_group_state(state, event)
