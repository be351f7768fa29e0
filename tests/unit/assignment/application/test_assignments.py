"""The assignment of a process, which an assignor changes."""

from datetime import UTC, datetime

import pytest

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId

PROCESS = ProcessId("a")
ONE, TWO, TEN = TaskId("1", 0), TaskId("2", 0), TaskId("10", 0)
LATER = datetime(2030, 1, 1, tzinfo=UTC)


def test_tasks_are_in_the_order_of_kafka_streams() -> None:
    assignment = KafkaStreamsAssignment.of(PROCESS, map(AssignedTask.active, (TEN, TWO, ONE)))
    assert list(assignment.tasks) == [ONE, TWO, TEN]


def test_a_task_replaces_the_one_with_its_id_and_is_removed_whatever_its_type() -> None:
    assignment = KafkaStreamsAssignment.of(PROCESS, [AssignedTask.active(ONE)])
    assignment.assign_task(AssignedTask.standby(ONE))
    assert assignment.tasks == {ONE: AssignedTask.standby(ONE)}
    assignment.remove_task(AssignedTask.active(ONE))
    assignment.remove_task(AssignedTask.active(TWO))
    assert assignment.tasks == {}


def test_an_assignment_may_be_changed_after_a_follow_up_was_asked_for() -> None:
    """In Kafka Streams 4.3.1 that is an error."""
    before = KafkaStreamsAssignment.of(PROCESS, [AssignedTask.active(ONE)])
    after = before.with_followup_rebalance(LATER)
    after.assign_task(AssignedTask.active(TWO))
    assert list(after.tasks) == [ONE, TWO]
    assert list(before.tasks) == [ONE]
    assert (before.followup_rebalance_deadline, after.followup_rebalance_deadline) == (None, LATER)


def test_a_task_cannot_be_active_and_standby() -> None:
    with pytest.raises(IllegalStateError, match="Task 1_0 is active and standby in process a"):
        KafkaStreamsAssignment.of(PROCESS, [AssignedTask.active(ONE), AssignedTask.standby(ONE)])


def test_a_deadline_needs_a_time_zone() -> None:
    with pytest.raises(IllegalStateError, match="no time zone"):
        KafkaStreamsAssignment.of(PROCESS).with_followup_rebalance(LATER.replace(tzinfo=None))
