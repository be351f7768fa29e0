"""Every row of the table of a member's states, taken by a member that is driven by hand."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest

from kafka_groups.client.membership.transitions import next_member_state
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams.member.coordinated import membership
from kafka_groups.streams.member.coordinated.transitions import TRANSITIONS, MembershipEvent
from kafka_groups.streams.member.rules.states import MembershipState
from tests.unit.streams.member.driven import REBALANCE_MS, A, B, Member, tasks

_S, _E = MembershipState, MembershipEvent
Row = tuple[MembershipState, MembershipEvent]

# ------------------------------------------------------------------------------------------- ways into a state


def reconciling() -> Member:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A))
    return member


def acknowledging() -> Member:
    member = Member().started()
    member.answer(member.send(), tasks(A))
    return member


def missed(member: Member) -> Member:
    """The member may have missed tasks: a response was lost."""
    member.lose(member.heartbeat())
    member.answer(member.send())
    return member


def refused(code: ErrorCode) -> Member:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), code)
    return member


def stale() -> Member:
    member = Member().joined(A)
    overdue(member)
    return member


def leaving() -> Member:
    member = Member().joined(A)
    member.membership.leave()
    return member


BECOME: Mapping[MembershipState, Callable[[], Member]] = MappingProxyType({
    _S.UNJOINED: Member,
    _S.JOINING: lambda: Member().started(),
    _S.RECONCILING: reconciling,
    _S.ACKNOWLEDGING: acknowledging,
    _S.STABLE: lambda: Member().joined(A),
    _S.FENCED: lambda: refused(ErrorCode.FENCED_MEMBER_EPOCH),
    _S.STALE: stale,
    _S.LEAVING: leaving,
    _S.FATAL: lambda: refused(ErrorCode.INVALID_REQUEST),
})  # fmt: skip

# ---------------------------------------------------------------------------------------------------- events


def overdue(member: Member) -> None:
    member.now_ms += REBALANCE_MS
    member.membership.poll(member.now_ms)


def own(member: Member) -> None:
    """It owns what it was assigned: at once, or as soon as it has given up what it must."""
    if member.is_in(_S.RECONCILING):
        member.confirm(member.revoked())
    else:
        member.answer(member.heartbeat(), tasks(A, B))


def rejoin(member: Member) -> None:
    member.confirm(member.lost())
    member.membership.application_called(member.now_ms)


def revoke(member: Member) -> None:
    member.membership.take_events()
    member.answer(member.heartbeat(), tasks(B))


HAPPEN: Mapping[MembershipEvent, Callable[[Member], object]] = MappingProxyType({
    _E.JOIN: lambda it: it.membership.join(it.now_ms),
    _E.ACCEPTED: lambda it: it.answer(it.heartbeat()),
    _E.REVOKE: revoke,
    _E.OWN: own,
    _E.ACKNOWLEDGED: lambda it: it.answer(it.heartbeat()),
    _E.RESYNCHRONIZE: missed,
    _E.FENCED: lambda it: it.refuse(it.heartbeat(), ErrorCode.FENCED_MEMBER_EPOCH),
    _E.OVERDUE: overdue,
    _E.REJOIN: rejoin,
    _E.REFUSED: lambda it: it.refuse(it.heartbeat(), ErrorCode.INVALID_REQUEST),
    _E.LEAVE: lambda it: it.membership.leave(),
    _E.LEFT: lambda it: it.answer(it.send(), member_epoch=-1),
})  # fmt: skip


def happens(state: MembershipState, event: MembershipEvent) -> Member:
    """A member in the state, after the event."""
    member = BECOME[state]()
    assert member.is_in(state)
    HAPPEN[event](member)
    return member


@pytest.mark.parametrize(
    ("state", "event"), [pytest.param(*row, id=f"{row[0].value}-{row[1].value}") for row in TRANSITIONS]
)
def test_a_row_is_taken(state: MembershipState, event: MembershipEvent, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Row] = []

    def next_state(
        table: Mapping[Row, MembershipState], before: MembershipState, seen: MembershipEvent
    ) -> MembershipState:
        taken.append((before, seen))
        return next_member_state(table, before, seen)

    monkeypatch.setattr(membership, "next_member_state", next_state)
    member = happens(state, event)
    assert (state, event) in taken
    assert member.is_in(TRANSITIONS[taken[-1]])
