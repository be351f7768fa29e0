"""All pairs of a state and an event of a member of a classic group: those of the table, and those that are refused."""

from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType

import pytest

from kafka_groups.client.membership.transitions import next_member_state
from kafka_groups.errors import IllegalStateError, KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leave_group import LeaveGroupResponse
from kafka_groups.streams.member.classic import membership
from kafka_groups.streams.member.classic.transitions import TRANSITIONS, ClassicMembershipEvent
from kafka_groups.streams.member.rules.member_events import TasksLost, TasksRevoked
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState
from tests.unit.streams.member.classic.driven import REBALANCE_MS, A, B, Member, assignment, inputs_of

_S, _E = MembershipState, ClassicMembershipEvent
Row = tuple[MembershipState, ClassicMembershipEvent]

STATES = [state for state in _S if state not in (_S.ACKNOWLEDGING, _S.UNREACHABLE)]

# ------------------------------------------------------------------------------------------- ways into a state


def leading() -> Member:
    member = Member().started()
    member.admit_as_leader(member.joining())
    return member


def syncing() -> Member:
    member = Member().started()
    member.admit(member.joining())
    return member


def reconciling() -> Member:
    member = Member().joined(A, B)
    member.rebalance()
    return member.round(A)


def fenced() -> Member:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID)
    return member


def stale() -> Member:
    member = Member().joined(A)
    member.wait(REBALANCE_MS)
    member.membership.poll(member.now_ms)
    return member


def fatal() -> Member:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return member


def leaving(member: Member | None = None) -> Member:
    member = member or Member().joined(A)
    member.membership.leave()
    return member


BECOME: Mapping[MembershipState, Callable[[], Member]] = MappingProxyType({
    _S.UNJOINED: Member,
    _S.JOINING: lambda: Member().started(),
    _S.LEADING: leading,
    _S.SYNCING: syncing,
    _S.RECONCILING: reconciling,
    _S.STABLE: lambda: Member().joined(A),
    _S.FENCED: fenced,
    _S.STALE: stale,
    _S.LEAVING: leaving,
    _S.FATAL: fatal,
})  # fmt: skip

# ---------------------------------------------------------------------------------------------------- events


def admit(member: Member) -> None:
    member.admit(member.joining())


def lead(member: Member) -> None:
    member.admit_as_leader(member.joining())


def led(member: Member) -> None:
    generation = member.membership.to_lead
    assert generation is not None
    member.membership.assign(generation, {})


def rebalance(member: Member) -> None:
    """The next answer says that the group rebalances."""
    if member.state is _S.SYNCING:
        member.refuse(member.send(ApiKey.SYNC_GROUP), ErrorCode.REBALANCE_IN_PROGRESS)
    else:
        member.rebalance()


def revoke(member: Member) -> None:
    member.rebalance()
    member.round(B)


def own(member: Member) -> None:
    (event,) = (each for each in member.events() if isinstance(each, TasksRevoked))
    member.confirm(event)


def refuse(member: Member, code: ErrorCode) -> None:
    """The next answer is an error."""
    if member.state is _S.JOINING:
        member.refuse(member.joining(), code)
    elif member.state is _S.SYNCING:
        member.refuse(member.send(ApiKey.SYNC_GROUP), code)
    else:
        member.refuse(member.heartbeat(), code)


def end(member: Member) -> None:
    """An error ends the member, which has left before, if it has to."""
    if member.state is _S.LEAVING:
        member.membership._parting_error = KafkaGroupsError("over")
        member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    else:
        refuse(member, ErrorCode.GROUP_AUTHORIZATION_FAILED)


def overdue(member: Member) -> None:
    member.wait(REBALANCE_MS)
    member.membership.poll(member.now_ms)


def rejoin(member: Member) -> None:
    for event in member.events():
        if isinstance(event, TasksLost):
            member.confirm(event)
    member.membership.application_called(member.now_ms)


def left(member: Member) -> None:
    member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())


HAPPEN: Mapping[ClassicMembershipEvent, Callable[[Member], object]] = MappingProxyType({
    _E.JOIN: lambda it: it.membership.join(it.now_ms),
    _E.LEAD: lead,
    _E.FOLLOW: admit,
    _E.LED: led,
    _E.ASSIGNED: lambda it: it.sync(assignment(inputs_of(A))),
    _E.REVOKE: revoke,
    _E.OWN: own,
    _E.REBALANCE: rebalance,
    _E.FENCED: lambda it: refuse(it, ErrorCode.UNKNOWN_MEMBER_ID),
    _E.OVERDUE: overdue,
    _E.REJOIN: rejoin,
    _E.REFUSED: end,
    _E.LEAVE: lambda it: it.membership.leave(),
    _E.LEFT: left,
})  # fmt: skip


@pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: f"{row[0].value}-{row[1].value}")
def test_a_row_is_taken(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Row] = []

    def next_state(
        table: Mapping[Row, MembershipState], before: MembershipState, seen: ClassicMembershipEvent
    ) -> MembershipState:
        taken.append((before, seen))
        return next_member_state(table, before, seen)

    monkeypatch.setattr(membership, "next_member_state", next_state)
    member = BECOME[row[0]]()
    assert member.state is row[0]
    HAPPEN[row[1]](member)
    assert row in taken
    assert member.state is TRANSITIONS[taken[-1]]


@pytest.mark.parametrize(
    "row", [row for row in product(_S, _E) if row not in TRANSITIONS], ids=lambda row: f"{row[0].value}-{row[1].value}"
)
def test_every_other_pair_is_a_bug_of_the_caller(row: Row) -> None:
    with pytest.raises(IllegalStateError, match=f"'{row[1].value}' is not possible in the member state"):
        next_member_state(TRANSITIONS, *row)


def test_every_state_and_event_of_a_classic_group_is_in_the_table() -> None:
    assert {state for state, _ in TRANSITIONS} == set(STATES) == set(TRANSITIONS.values())
    assert {event for _, event in TRANSITIONS} == set(_E)


def test_a_member_in_the_group_can_be_fenced_refused_late_and_closed() -> None:
    events = {_E.FENCED, _E.OVERDUE, _E.REFUSED, _E.LEAVE}
    assert {row for row in TRANSITIONS if row[1] in events} >= set(product(IN_GROUP - {_S.ACKNOWLEDGING}, events))
