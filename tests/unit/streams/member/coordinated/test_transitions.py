"""The states of a member of a streams group."""

import pytest

from kafka_groups.client.membership.transitions import next_member_state
from kafka_groups.errors import IllegalStateError
from kafka_groups.streams.member.coordinated.transitions import TRANSITIONS, MembershipEvent
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState

CLASSIC = {MembershipState.LEADING, MembershipState.SYNCING}
STATES = [state for state in MembershipState if state not in CLASSIC | {MembershipState.UNREACHABLE}]
"""What the membership goes through. That no broker answers is shown in place of it."""


def test_every_state_can_be_reached_and_left() -> None:
    assert {state for state, _ in TRANSITIONS} == set(STATES)
    assert set(TRANSITIONS.values()) == set(STATES)
    assert {event for _, event in TRANSITIONS} == set(MembershipEvent)


@pytest.mark.parametrize("state", STATES)
def test_a_program_can_always_leave(state: MembershipState) -> None:
    assert (state, MembershipEvent.LEAVE) in TRANSITIONS


@pytest.mark.parametrize("state", sorted(IN_GROUP - CLASSIC, key=str))
def test_a_member_of_the_group_can_be_fenced_refused_and_late(state: MembershipState) -> None:
    assert next_member_state(TRANSITIONS, state, MembershipEvent.FENCED) is MembershipState.FENCED
    assert next_member_state(TRANSITIONS, state, MembershipEvent.REFUSED) is MembershipState.FATAL
    assert next_member_state(TRANSITIONS, state, MembershipEvent.OVERDUE) is MembershipState.STALE


def test_what_cannot_happen_is_an_error() -> None:
    with pytest.raises(IllegalStateError, match="'own' is not possible in the member state 'fenced'"):
        next_member_state(TRANSITIONS, MembershipState.FENCED, MembershipEvent.OWN)
