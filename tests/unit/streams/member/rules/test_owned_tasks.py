"""A program that does not confirm events is reminded of them, at growing intervals."""

import pytest

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams.member.rules.member_events import TasksAssigned
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.owned_tasks import ConfirmationReminder, TaskOwnership
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import TaskId, TopicPartition
from tests.unit.streams.member.driven import A, B, Member, tasks


def warnings(member: Member) -> list[str]:
    return [event.text for event in member.errors.events.take() if event.subject == "unconfirmed"]


def test_reminders_come_at_growing_intervals() -> None:
    reminder, now_ms = ConfirmationReminder(), 0
    due_s: list[int] = []
    assert not reminder.is_due(0, awaits_confirmation=True)
    while len(due_s) < 6:
        now_ms += reminder.remaining_ms(now_ms)
        if reminder.is_due(now_ms, awaits_confirmation=True):
            due_s.append(now_ms // 1000)
    assert due_s == [30, 90, 210, 450, 750, 1050]


def test_a_confirmation_ends_the_reminders_and_the_next_event_starts_them_anew() -> None:
    reminder = ConfirmationReminder()
    reminder.is_due(0, awaits_confirmation=True)
    assert not reminder.is_due(40_000, awaits_confirmation=False)
    assert (reminder.since_ms, reminder.remaining_ms(40_000)) == (None, NEVER_MS)
    assert not reminder.is_due(50_000, awaits_confirmation=True)
    assert reminder.remaining_ms(50_000) == 30_000


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_member_that_waits_for_lost_tasks_to_be_closed_does_not_stay_out_of_the_group_silently(
    is_taken: bool,
) -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.is_in(MembershipState.FENCED)
    events = [member.lost()] if is_taken else []
    assert member.quiet_ms() == 30_000
    assert member.membership.unconfirmed == tasks(A)
    member.now_ms += 30_000
    assert member.quiet_ms() == 60_000
    (text,) = warnings(member)
    assert "app/me has waited 30 s for your program to confirm that it has closed tasks: active 0_0." in text
    assert "is not in the group (fenced)" in text
    assert "call confirm(event)" in text
    member.confirm((events or [member.lost()])[0])
    assert member.is_in(MembershipState.JOINING)
    member.now_ms += 60_000
    member.send()
    assert warnings(member) == []


def test_a_member_that_keeps_others_waiting_is_reminded_too_and_heartbeats_go_on() -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A))
    event = member.revoked()
    for _ in range(7):
        member.answer(member.heartbeat())
    (text,) = warnings(member)
    assert "closed tasks: active 0_1." in text
    assert "keeps other members waiting" in text
    member.confirm(event)
    member.answer(member.heartbeat())
    assert member.membership.unconfirmed_since.since_ms is None


def test_an_assignment_that_the_program_has_not_heard_of_loses_its_tasks_with_their_inputs() -> None:
    ownership, kept, gone = TaskOwnership(), TaskId("0", 0), TaskId("0", 1)
    inputs = {task: frozenset({TopicPartition("in", task.partition)}) for task in (kept, gone)}
    ownership.target = MemberTasks(active=inputs)
    ownership.advance(1, inputs=inputs)
    ownership.target = MemberTasks(active=[kept])
    ownership.advance(2, inputs=inputs)
    [event] = ownership.inbox.take()
    assert isinstance(event, TasksAssigned)
    assert event.tasks.active == {kept}
    assert event.inputs == {kept: inputs[kept]}
