"""The transition table of a group member: every pair of state and event."""

import itertools

import pytest

from kafka_groups.client.membership.transitions import next_member_state
from kafka_groups.errors import IllegalStateError
from kafka_groups.share.membership.states import TRANSITIONS, MemberEvent, MemberState

EXPECTED = {
    # state: what each event leads to, in the order of MemberEvent; None: cannot happen
    "unsubscribed": ("joining", None, None, None, "unsubscribed", None, None, "unsubscribed"),
    "joining": ("joining", "stable", "joining", "fatal", "leaving", None, "stale", "joining"),
    "stable": ("stable", "stable", "joining", "fatal", "leaving", None, "stale", "stable"),
    "leaving": ("joining", None, None, None, "leaving", "unsubscribed", None, "leaving"),
    "stale": ("stale", None, None, None, "leaving", "stale", "stale", "joining"),
    "fatal": ("fatal", None, None, None, "unsubscribed", None, None, "fatal"),
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(MemberState, MemberEvent)))
def test_every_pair_of_state_and_event(state: MemberState, event: MemberEvent) -> None:
    wanted = EXPECTED[state.value][list(MemberEvent).index(event)]

    if wanted is None:
        with pytest.raises(IllegalStateError, match=event.value):
            next_member_state(TRANSITIONS, state, event)
    else:
        assert next_member_state(TRANSITIONS, state, event) is MemberState(wanted)


def test_every_state_can_be_left_by_the_application() -> None:
    ends = {MemberState.LEAVING, MemberState.UNSUBSCRIBED}
    assert all(TRANSITIONS[state, MemberEvent.LEAVE] in ends for state in MemberState)
