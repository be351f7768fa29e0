"""Which heartbeats carry the offsets of tasks."""

import pytest

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse
from kafka_groups.protocol.messages.streams_group_parts import TaskOffset
from kafka_groups.streams.member.coordinated.task_offsets import NO_REPORT, OffsetReport, TaskOffsetReporter
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId

A, B = TaskId("0", 0), TaskId("0", 1)
OWNED = MemberTasks(active=[A], warmup=[B])
RESPONSE = StreamsGroupHeartbeatResponse(task_offset_interval_ms=60_000, acceptable_recovery_lag=100)


class Reporting:
    """A reporter whose coordinator answers every heartbeat."""

    def __init__(self) -> None:
        self.positions = {A: TaskPosition(10, 20), B: TaskPosition(0, 1_000)}
        self.reporter = TaskOffsetReporter(lambda: self.positions)

    def beat(self, now_ms: int, owned: MemberTasks = OWNED) -> OffsetReport:
        report = self.reporter.report(owned, now_ms)
        self.reporter.accepted(report, owned, RESPONSE, now_ms)
        return report


def offset(task: TaskId, value: int) -> TaskOffset:
    return TaskOffset(subtopology_id=task.subtopology_id, partition=task.partition, offset=value)


def test_the_first_heartbeat_has_all_tasks_with_state_even_if_they_are_not_owned() -> None:
    report = Reporting().beat(0, NO_TASKS)
    assert report.offsets == (offset(A, 10), offset(B, 0))
    assert report.end_offsets == (offset(A, 20), offset(B, 1_000))


def test_then_there_is_nothing_to_say_until_the_interval_has_passed() -> None:
    reporting = Reporting()
    reporting.beat(0)
    reporting.positions[A] = TaskPosition(15, 20)
    assert reporting.beat(59_999) == NO_REPORT
    report = reporting.beat(60_000)
    assert report.offsets == (offset(A, 15), offset(B, 0))
    assert report.end_offsets is None  # not changed
    reporting.positions[A] = TaskPosition(16, 20)
    assert reporting.beat(60_001) == NO_REPORT
    assert reporting.beat(120_000).offsets is not None


def test_offsets_that_have_not_changed_are_not_repeated_and_the_interval_starts_over() -> None:
    reporting = Reporting()
    reporting.beat(0)
    assert reporting.beat(60_000) == NO_REPORT
    reporting.positions[A] = TaskPosition(11, 20)
    assert reporting.beat(60_001) == NO_REPORT


def test_other_tasks_are_a_reason_to_report() -> None:
    reporting = Reporting()
    reporting.beat(0)
    reporting.positions[A] = TaskPosition(11, 21)
    report = reporting.beat(1, MemberTasks(active=[A, B]))
    assert report == OffsetReport((offset(A, 11), offset(B, 0)), (offset(A, 21), offset(B, 1_000)))


def test_a_warm_up_that_has_caught_up_is_reported_once() -> None:
    reporting = Reporting()
    reporting.beat(0)
    reporting.positions[B] = TaskPosition(899, 1_000)
    assert reporting.beat(1) == NO_REPORT
    reporting.positions[B] = TaskPosition(900, 1_000)
    assert reporting.beat(2).offsets == (offset(A, 10), offset(B, 900))
    reporting.positions[B] = TaskPosition(950, 1_000)
    assert reporting.beat(3) == NO_REPORT


def test_a_report_that_was_not_answered_is_made_again() -> None:
    reporting = Reporting()
    reporting.beat(0)
    reporting.reporter.forget()
    assert reporting.beat(1) == OffsetReport((offset(A, 10), offset(B, 0)), (offset(A, 20), offset(B, 1_000)))


def test_an_unknown_end_offset_is_left_out_and_a_large_sum_stops_at_the_limit() -> None:
    reporting = Reporting()
    reporting.positions = {A: TaskPosition(2**63 + 5), B: TaskPosition(1, 2)}
    report = reporting.beat(0)
    assert report.offsets == (offset(A, 2**63 - 1), offset(B, 1))
    assert report.end_offsets == (offset(B, 2),)


def test_negative_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        TaskPosition(-1)
