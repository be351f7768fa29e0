"""The states of streams groups."""

from kafka_groups.broker.coordinators.groups.streams.states import (
    STREAMS_GROUP_TRANSITIONS,
    STREAMS_MEMBER_TRANSITIONS,
    StreamsGroupState,
    StreamsMemberState,
)


def test_a_group_that_is_gone_stays_away() -> None:
    assert not any(state is StreamsGroupState.DEAD for state, _ in STREAMS_GROUP_TRANSITIONS)


def test_no_step_leads_to_a_state_that_is_not_known() -> None:
    assert STREAMS_MEMBER_TRANSITIONS.keys() == set(StreamsMemberState)
    assert all(StreamsMemberState.UNKNOWN not in after for after in STREAMS_MEMBER_TRANSITIONS.values())
