"""The hand-over between a member and its application, which may be another thread."""

import threading

from kafka_groups.streams.member.rules.inbox import MemberInbox
from kafka_groups.streams.member.rules.member_events import StatusesChanged, StreamsMembershipEvent
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS
from kafka_groups.streams.member.rules.owned_tasks import TaskOwnership
from tests.unit.streams.member.driven import A, B, C, Member, tasks

OLD, MIDDLE, NEW = (StatusesChanged(()) for _ in range(3))


def inbox(*events: StreamsMembershipEvent) -> MemberInbox:
    made = MemberInbox()
    for event in events:
        made.put(event)
    return made


def test_events_are_taken_once_and_in_order() -> None:
    made = inbox(OLD, NEW)
    assert made
    assert made.take() == (OLD, NEW)
    assert made.take() == ()
    assert not made
    assert list(made.taken()) == [OLD, NEW]
    assert list(made.taken()) == []


def test_what_was_withdrawn_is_not_taken() -> None:
    made = inbox(OLD, NEW)
    assert made.withdraw() == [OLD, NEW]
    assert made.take() == ()
    assert list(made.taken()) == []


def test_only_the_rest_is_withdrawn_if_the_application_has_taken_some() -> None:
    made = inbox(OLD, MIDDLE, NEW)
    made._waiting.popleft()  # as another thread does between two steps of `take`
    assert made.withdraw() == [MIDDLE, NEW]
    assert list(made.taken()) == [OLD]


def test_of_each_event_one_thread_gets_hold() -> None:
    made, begun, has_ended = MemberInbox(), threading.Event(), threading.Event()
    taken: list[StreamsMembershipEvent] = []

    def take() -> None:
        begun.set()
        while not has_ended.is_set():
            taken.extend(made.take())

    application = threading.Thread(target=take)
    application.start()
    begun.wait()
    put, withdrawn, known = (
        list[StreamsMembershipEvent](),
        set[StreamsMembershipEvent](),
        list[StreamsMembershipEvent](),
    )
    for _ in range(2_000):
        events = [StatusesChanged(()) for _ in range(5)]
        for event in events:
            made.put(event)
        put += events
        known += made.taken()
        withdrawn.update(made.withdraw())
        known += made.taken()
    has_ended.set()
    application.join()
    assert known == taken
    assert taken == [event for event in put if event not in withdrawn]


def owning() -> TaskOwnership:
    """The application may know of A, and B is on its way to it."""
    ownership = TaskOwnership()
    ownership.target = tasks(A)
    ownership.advance(1)
    ownership.target = tasks(A, B)
    ownership.advance(2)
    return ownership


def test_a_task_that_was_taken_just_before_it_was_withdrawn_is_revoked() -> None:
    ownership = owning()
    ownership.inbox._waiting.popleft()
    ownership.target = tasks(C)
    ownership.advance(3)
    (event,) = ownership.inbox.take()
    assert event in ownership._unconfirmed
    assert (event.tasks, ownership.owned) == (tasks(A), tasks(A))


def test_only_the_tasks_that_the_application_knows_are_lost() -> None:
    ownership = owning()
    ownership.inbox._waiting.popleft()
    ownership.lose()
    (event,) = ownership.inbox.take()
    assert event.tasks == tasks(A)  # type: ignore[union-attr]
    assert (ownership.owned, ownership.lost) == (NO_TASKS, tasks(A))


def test_calls_that_are_only_noted_keep_the_member_in_the_group() -> None:
    member = Member().joined(A)
    left_ms = member.membership.calls.remaining_ms(member.now_ms)
    while left_ms > 5_000:
        member.answer(member.heartbeat())
        left_ms -= 5_000
    member.membership.calls.called(member.now_ms)  # the application's thread wakes nobody
    for _ in range(10):
        member.answer(member.heartbeat())
    assert member.membership.take_events() == ()


def test_a_call_that_ends_is_not_late() -> None:
    member = Member().joined(A)
    calls = member.membership.calls
    calls.is_waiting = True
    member.now_ms += 2 * calls.limit_ms
    calls.waited(member.now_ms)
    assert not calls.is_waiting
    assert calls.remaining_ms(member.now_ms) == calls.limit_ms
