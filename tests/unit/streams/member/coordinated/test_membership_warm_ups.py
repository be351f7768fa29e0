"""The life of a warm-up task, from a coordinator that hands them out: Kafka 4.4 does not yet."""

from typing import Any

from kafka_groups.protocol.messages.streams_group_parts import TaskIds, TaskOffset
from kafka_groups.streams.member.rules.member_events import TasksAssigned
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from tests.unit.streams.member.driven import A, B, Member, lists, tasks, wire

LAG: dict[str, Any] = {"acceptable_recovery_lag": 100, "task_offset_interval_ms": 60_000}


def warming() -> Member:
    """A member that runs task A and warms up B, and is far behind with it."""
    member = Member().started()
    member.positions = {A: TaskPosition(10, 10), B: TaskPosition(0, 1_000)}
    member.answer(member.send(), tasks(A, warmup=(B,)), **LAG)
    return member


def offsets(*values: int) -> tuple[TaskOffset, ...]:
    return tuple(
        TaskOffset(subtopology_id=task.subtopology_id, partition=task.partition, offset=value)
        for task, value in zip((A, B), values, strict=True)
    )


def test_a_warm_up_is_assigned_and_acknowledged_like_other_tasks() -> None:
    member = warming()
    (event,) = member.membership.take_events()
    assert isinstance(event, TasksAssigned)
    assert event.tasks == MemberTasks(active=[A], warmup=[B])
    request = wire(member.send())
    assert request.warmup_tasks == (TaskIds(subtopology_id="0", partitions=(1,)),)
    assert lists(member.membership.owned)["warmup_tasks"] == request.warmup_tasks


def test_a_warm_up_that_has_caught_up_is_told_with_the_next_heartbeat() -> None:
    member = warming()
    member.answer(member.send(), **LAG)
    member.positions = {A: TaskPosition(10, 10), B: TaskPosition(899, 1_000)}
    before = member.heartbeat()
    assert wire(before).task_offsets is None
    member.answer(before, **LAG)
    member.positions = {A: TaskPosition(10, 10), B: TaskPosition(900, 1_000)}
    after = member.heartbeat()
    assert (wire(after).task_offsets, wire(after).task_end_offsets) == (offsets(10, 900), None)
    assert wire(after, 0).task_offsets is None, "coordinators of version 0 refuse them"


def test_a_warm_up_that_becomes_active_changes_its_role_when_the_program_agrees() -> None:
    member = warming()
    member.answer(member.send(), **LAG)
    member.membership.take_events()
    member.answer(member.heartbeat(), tasks(A, B), member_epoch=3, **LAG)
    revoked = member.revoked()
    assert (revoked.tasks, revoked.then) == (MemberTasks(warmup=[B]), tasks(B))
    member.confirm(revoked)
    (assigned,) = member.membership.take_events()
    assert isinstance(assigned, TasksAssigned)
    assert assigned.tasks == tasks(B)
    acknowledged = member.send()
    assert lists(tasks(A, B)) == {name: getattr(wire(acknowledged), name) for name in lists(tasks())}
    member.answer(acknowledged, member_epoch=3, **LAG)
    assert member.is_in(MembershipState.STABLE)
