"""Every error of JoinGroup, SyncGroup and Heartbeat: what the member keeps, where it goes, and when it asks again."""

from collections.abc import Mapping

import pytest
from attrs import frozen

from kafka_groups.client.requests import OutgoingRequest
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams.member.classic.answers import REACTIONS, ErrorReaction, RoundStep, reaction_to
from kafka_groups.streams.member.rules.states import MembershipState
from tests.unit.streams.member.classic.driven import A, Member, tasks

_C, _S = ErrorCode, MembershipState


@frozen
class Outcome:
    """What is seen after an error.

    Attributes:
        state: The state.
        id_: The member's id.
        owns: Whether it keeps its tasks.
        finds: Whether it looks for the coordinator.
        waits: Whether it waits before it asks again.
    """

    state: MembershipState
    id_: str = "me-1"
    owns: bool = True
    finds: bool = False
    waits: bool = False


def asking(step: RoundStep) -> tuple[Member, OutgoingRequest]:
    """A member with a task that has asked this, and its request."""
    member = Member().joined(A)
    if step is RoundStep.HEARTBEAT:
        return member, member.heartbeat()
    member.rebalance()
    joining = member.send(ApiKey.JOIN_GROUP)
    if step is RoundStep.JOIN:
        return member, joining
    member.admit(joining)
    return member, member.send(ApiKey.SYNC_GROUP)


JOINING = Outcome(_S.JOINING)
RETRY = Outcome(_S.JOINING, waits=True)
FIND = Outcome(_S.JOINING, finds=True, waits=True)
LOSE_ID = Outcome(_S.FENCED, id_="", owns=False)
LOSE_TASKS = Outcome(_S.FENCED, owns=False)
BEAT = Outcome(_S.STABLE, waits=True)
BEAT_ELSEWHERE = Outcome(_S.STABLE, finds=True, waits=True)
END = Outcome(_S.FATAL, id_="", owns=False)

# The table of the design: each cell of its three columns.
CELLS: Mapping[ErrorCode, tuple[Outcome, Outcome, Outcome]] = {
    _C.REBALANCE_IN_PROGRESS: (RETRY, JOINING, JOINING),
    _C.UNKNOWN_MEMBER_ID: (LOSE_ID, LOSE_ID, LOSE_ID),
    _C.ILLEGAL_GENERATION: (LOSE_TASKS, LOSE_TASKS, LOSE_TASKS),
    _C.NOT_COORDINATOR: (FIND, FIND, BEAT_ELSEWHERE),
    _C.COORDINATOR_NOT_AVAILABLE: (FIND, FIND, BEAT_ELSEWHERE),
    _C.COORDINATOR_LOAD_IN_PROGRESS: (RETRY, RETRY, BEAT),
    _C.UNKNOWN_SERVER_ERROR: (RETRY, RETRY, BEAT),
    _C.FENCED_INSTANCE_ID: (END, END, END),
    _C.INCONSISTENT_GROUP_PROTOCOL: (END, END, END),
    _C.GROUP_MAX_SIZE_REACHED: (END, END, END),
    _C.INVALID_SESSION_TIMEOUT: (END, END, END),
    _C.GROUP_AUTHORIZATION_FAILED: (END, END, END),
    _C.UNSUPPORTED_VERSION: (END, END, END),
    _C.INVALID_GROUP_ID: (END, END, END),
}


@pytest.mark.parametrize(
    ("code", "step", "wanted"),
    [
        pytest.param(code, step, outcome, id=f"{step.value}-{code.name}")
        for code, row in CELLS.items()
        for step, outcome in zip(RoundStep, row, strict=True)
    ],
)
def test_a_cell(code: ErrorCode, step: RoundStep, wanted: Outcome) -> None:
    member, request = asking(step)
    member.refuse(request, code)
    assert outcome_of(member) == wanted


def outcome_of(member: Member) -> Outcome:
    state, id_ = member.state, member.membership.member_id
    finds = member.coordinator.node_id is None
    member.coordinator.node_id = 2
    waits = state in (_S.JOINING, _S.STABLE) and not member.requests()
    return Outcome(state, id_, owns=member.membership.owned == tasks(A), finds=finds, waits=waits)


def test_every_listed_error_has_a_cell() -> None:
    listed = {code for row in REACTIONS.values() for code in row}
    assert listed - {_C.MEMBER_ID_REQUIRED} < CELLS.keys()


@pytest.mark.parametrize("step", RoundStep)
def test_all_other_errors_end_the_member(step: RoundStep) -> None:
    for code in set(ErrorCode) - REACTIONS[step].keys():
        assert reaction_to(step, code) is ErrorReaction.END


def test_the_id_that_the_coordinator_gives_is_used_at_once() -> None:
    member = Member().started()
    member.refuse(member.send(ApiKey.JOIN_GROUP), _C.MEMBER_ID_REQUIRED, member_id="given")
    assert (member.state, member.membership.member_id) == (_S.JOINING, "given")
    assert member.send(ApiKey.JOIN_GROUP).context.member_id == "given"


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        (_C.FENCED_INSTANCE_ID, ["another process", "'app'", "group.instance.id"]),
        (_C.INVALID_SESSION_TIMEOUT, ["session.timeout.ms=45000", "group.min.session.timeout.ms", "group.max"]),
        (_C.GROUP_MAX_SIZE_REACHED, ["group.max.size", "fewer workers"]),
        (_C.INCONSISTENT_GROUP_PROTOCOL, ["'app'", "group.protocol=streams", "until it is empty", "application.id"]),
    ],
)
def test_an_error_that_ends_the_member_says_what_to_do(code: ErrorCode, texts: list[str]) -> None:
    member = Member().started()
    member.refuse(member.send(ApiKey.JOIN_GROUP), code)
    fatal = member.errors.fatal
    assert fatal is not None
    assert fatal.__class__.__name__ != "UnknownServerError"
    assert [text for text in texts if text.lower() not in str(fatal).lower()] == []


# ------------------------------------------------------------------------------------ what is outdated or lost


def late(member: Member, request: OutgoingRequest, code: ErrorCode) -> None:
    state = member.state
    member.refuse(request, code)
    assert member.state is state
    assert member.membership.owned == tasks(A)


@pytest.mark.parametrize("code", [_C.UNKNOWN_MEMBER_ID, _C.ILLEGAL_GENERATION, _C.REBALANCE_IN_PROGRESS])
def test_a_heartbeat_of_the_generation_before_says_nothing(code: ErrorCode) -> None:
    member = Member().joined(A)
    heartbeat = member.heartbeat()
    member.membership.request_round("a test")
    member.round(A)
    late(member, heartbeat, code)


@pytest.mark.parametrize("code", [_C.UNKNOWN_MEMBER_ID, _C.ILLEGAL_GENERATION, _C.REBALANCE_IN_PROGRESS])
def test_while_a_join_is_on_its_way_a_heartbeat_says_nothing(code: ErrorCode) -> None:
    member = Member().joined(A)
    heartbeat = member.heartbeat()
    member.membership.request_round("a test")
    member.send(ApiKey.JOIN_GROUP)
    late(member, heartbeat, code)


def test_while_the_assignment_is_on_its_way_a_rebalance_is_left_to_its_answer() -> None:
    member = Member().joined(A)
    member.rebalance()
    member.admit(member.send(ApiKey.JOIN_GROUP))
    member.send(ApiKey.SYNC_GROUP)
    late(member, member.heartbeat(), _C.REBALANCE_IN_PROGRESS)


FAILED: Mapping[RoundStep, Outcome] = {
    RoundStep.JOIN: FIND,
    RoundStep.SYNC: FIND,
    RoundStep.HEARTBEAT: BEAT_ELSEWHERE,
}


@pytest.mark.parametrize("step", RoundStep)
def test_a_lost_connection_costs_neither_the_id_nor_the_tasks(step: RoundStep) -> None:
    member, request = asking(step)
    member.membership.on_failure(request, Exception("gone"), member.now_ms)
    assert outcome_of(member) == FAILED[step]
    member.wait(2_000)
    api = ApiKey.HEARTBEAT if step is RoundStep.HEARTBEAT else ApiKey.JOIN_GROUP
    assert member.send(api).context.member_id == "me-1"


def test_a_failure_does_not_forget_a_coordinator_that_was_found_since() -> None:
    member = Member().joined(A)
    heartbeat = member.heartbeat()
    member.coordinator.node_id = 3
    member.membership.on_failure(heartbeat, Exception("gone"), member.now_ms)
    assert member.coordinator.node_id == 3


def test_lost_tasks_are_closed_before_the_member_joins_again() -> None:
    member, request = asking(RoundStep.HEARTBEAT)
    member.refuse(request, _C.UNKNOWN_MEMBER_ID)
    assert member.quiet_ms() > 0
    event = member.lost()
    assert event.tasks == tasks(A)
    member.confirm(event)
    assert member.state is _S.JOINING
    member.wait(2_000)
    joining = member.send(ApiKey.JOIN_GROUP)
    assert (joining.context.member_id, joining.context.generation) == ("", 0)
