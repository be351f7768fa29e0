"""Tasks and assignments as values."""

import pytest

from kafka_groups.protocol.messages.streams_group_parts import TaskIds
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks, tasks_from_wire, tasks_to_wire
from kafka_groups.types import TaskId

A, B, C = TaskId("0", 0), TaskId("0", 11), TaskId("1", 2)


def test_a_task_is_written_and_read_as_in_kafka_streams() -> None:
    assert str(B) == "0_11"
    assert TaskId.parse("0_11") == B
    assert TaskId.parse("a_b_3") == TaskId("a_b", 3)


@pytest.mark.parametrize("text", ["", "0", "0_", "_1", "0_x", "0_-1", "0_²"])
def test_what_is_not_a_task_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid task id .* such as '0_12'"):
        TaskId.parse(text)


def test_on_the_wire_tasks_are_sorted_and_grouped_by_subtopology() -> None:
    wire = (TaskIds(subtopology_id="0", partitions=(0, 11)), TaskIds(subtopology_id="1", partitions=(2,)))
    assert tasks_to_wire([C, B, A]) == wire
    assert tasks_from_wire(wire) == {A, B, C}
    assert tasks_from_wire(None) == frozenset()


def test_a_task_in_another_role_is_another_task() -> None:
    before = MemberTasks(active=[A, B], standby=[C])
    after = MemberTasks(active=[A, C], warmup=[B])
    assert before - after == MemberTasks(active=[B], standby=[C])
    assert before.ids == {A, B, C}
    assert after.only(before.ids - {A}) == MemberTasks(active=[C], warmup=[B])


def test_an_assignment_shows_its_tasks() -> None:
    assert str(MemberTasks(active=[B, A], warmup=[C])) == "active 0_0, 0_11; warm-up 1_2"
    assert str(NO_TASKS) == "no tasks"
    assert not NO_TASKS
