"""The states of streams groups."""

import pytest

from kafka_groups.broker.coordinators.groups.streams.states import (
    STREAMS_GROUP_TRANSITIONS,
    STREAMS_MEMBER_TRANSITIONS,
    StreamsGroupEvent,
    StreamsGroupState,
    StreamsMemberState,
    next_streams_group_state,
)
from kafka_groups.errors import IllegalStateError


@pytest.mark.parametrize("state", StreamsGroupState)
@pytest.mark.parametrize("event", StreamsGroupEvent)
def test_every_pair_is_in_the_table_or_refused(state: StreamsGroupState, event: StreamsGroupEvent) -> None:
    expected = STREAMS_GROUP_TRANSITIONS.get((state, event))
    if expected is None:
        with pytest.raises(IllegalStateError, match=event.value):
            next_streams_group_state(state, event)
    else:
        assert next_streams_group_state(state, event) is expected


def test_a_group_that_is_gone_stays_away() -> None:
    assert not any(state is StreamsGroupState.DEAD for state, _ in STREAMS_GROUP_TRANSITIONS)


def test_no_step_leads_to_a_state_that_is_not_known() -> None:
    assert STREAMS_MEMBER_TRANSITIONS.keys() == set(StreamsMemberState)
    assert all(StreamsMemberState.UNKNOWN not in after for after in STREAMS_MEMBER_TRANSITIONS.values())
