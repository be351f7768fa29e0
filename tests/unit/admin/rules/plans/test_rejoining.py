"""The members of a classic group, as they would join again."""

from collections.abc import Mapping
from uuid import UUID

from kafka_groups.admin import PlannedProcess
from kafka_groups.admin.rules.classic_streams.classic_groups import DecodedClassicGroup, read_classic_group
from kafka_groups.admin.rules.plans.rejoining import KnownState, is_settled, rejoined, with_processes
from kafka_groups.assignment import ProcessId, TaskInfo, TaskTopicPartition
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponseMember
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.types import TaskId, TopicPartition
from tests.support.members.shown_classic_groups import joined_with, shown_group, shown_member

A, B = UUID(int=1), UUID(int=2)
END = 1_000


def task(number: int, subtopology: str = "0") -> TaskId:
    return TaskId(subtopology, number)


TASKS = {
    TaskId(subtopology, number): TaskInfo(
        TaskId(subtopology, number), subtopology == "0", frozenset(), (
            TaskTopicPartition(TopicPartition(f"in-{subtopology}", number), is_source=True, is_changelog=False),
        ),
    )
    for subtopology in ("0", "1")
    for number in range(4)
}  # fmt: skip
"""Those of sub-topology 0 have state, and those of sub-topology 1 have none."""


def shown(
    member_id: str,
    process_id: UUID = A,
    *,
    reported: Mapping[TaskId, int] | None = None,
    active: tuple[TaskId, ...] = (),
    standby: tuple[TaskId, ...] = (),
    next_ms: int | None = None,
    version: int = 11,
) -> DescribeGroupsResponseMember:
    """A member that has reported sums when it joined, and was given tasks."""
    sums = tuple((reported or {}).items())
    by_topic: dict[str, tuple[int, ...]] = {}
    for each in sorted(active):
        topic = f"in-{each.subtopology_id}"
        by_topic[topic] = (*by_topic.get(topic, ()), each.partition)
    info = AssignmentInfo(
        active_tasks=tuple(sorted(active)),
        standby_tasks=tuple((each, ()) for each in standby),
        next_rebalance_ms=next_ms,
    )
    return shown_member(
        member_id=member_id,
        member_metadata=joined_with(SubscriptionInfo(process_id=process_id, version=version, task_offset_sums=sums)),
        member_assignment=ConsumerProtocolAssignment(by_topic, info.encode()).encode(),
    )


def group(*members: DescribeGroupsResponseMember) -> DecodedClassicGroup:
    return read_classic_group(shown_group(*members))


def sums(given: DecodedClassicGroup, *leaving: str, complete: bool = True) -> dict[str, dict[TaskId, int]]:
    """What the members report when they join again."""
    ends = {each: END for each, info in TASKS.items() if info.is_stateful}
    state = KnownState(tasks=TASKS, ends=ends, are_copies_complete=complete)
    return {
        id_: dict(member.task_offset_sums) for id_, member in rejoined(given, frozenset(leaving), state).members.items()
    }


def test_members_own_and_run_what_they_were_given() -> None:
    given = group(shown("a", reported={task(3): RUNNING_TASK}, active=(task(0), task(0, "1"))), shown("b", B))
    state = KnownState(tasks=TASKS, ends={}, are_copies_complete=True)
    found = rejoined(given, frozenset(), state).members
    assert found["a"].owned_partitions == {TopicPartition("in-0", 0), TopicPartition("in-1", 0)}
    assert found["b"].owned_partitions == frozenset()
    assert sums(given) == {"a": {task(0): RUNNING_TASK}, "b": {}}


def test_copies_are_at_the_end_in_a_group_that_waits_for_nothing() -> None:
    given = group(shown("a", reported={task(0): 400}, standby=(task(0), task(1))))
    assert sums(given) == {"a": {task(0): END, task(1): END}}


def test_copies_are_where_they_were_in_a_group_that_waits_for_them() -> None:
    reported = {task(0): 400, task(2): RUNNING_TASK}
    given = group(shown("a", reported=reported, standby=(task(0), task(1), task(2))))
    assert sums(given, complete=False) == {"a": {task(0): 400, task(1): 0, task(2): 0}}


def test_state_on_disk_is_reported_again_unless_the_process_uses_it() -> None:
    given = group(
        shown("a", reported={task(0): 400, task(1): 300}),
        shown("b", active=(task(0),)),
        shown("c", B, active=(task(1),)),
    )
    assert sums(given) == {"a": {task(1): 300}, "b": {task(0): RUNNING_TASK}, "c": {task(1): RUNNING_TASK}}


def test_the_state_of_a_thread_that_leaves_is_found_by_the_first_of_its_process() -> None:
    given = group(
        shown("a", reported={task(3): 5}, active=(task(0), task(0, "1")), standby=(task(1),)),
        shown("b", active=(task(2),)),
        shown("c"),
        shown("d", B),
    )
    found = sums(given, "a")
    first = next(each for each in found if each != "d")
    assert found.pop(first).items() >= {task(0): END, task(1): END, task(3): 5}.items()
    assert all(not {task(0), task(1), task(3)} & each.keys() for each in found.values())
    assert sums(given, "a", "b", "c") == {"d": {}}


def test_members_below_version_7_tell_no_sums() -> None:
    given = group(shown("a", version=6, active=(task(0), task(0, "1")), standby=(task(1),)))
    assert sums(given) == {
        "a": {task(0): RUNNING_TASK, task(0, "1"): RUNNING_TASK, task(1): UNKNOWN_OFFSET_SUM}
    }  # fmt: skip


def test_a_group_is_settled_if_nobody_is_about_to_join_again() -> None:
    assert is_settled(group(shown("a"), shown("b")))
    assert not is_settled(group(shown("a"), shown("b", next_ms=0)))
    assert not is_settled(group(shown("a", next_ms=1), shown("b")))


def test_threads_of_new_processes_have_nothing() -> None:
    state = KnownState(tasks=TASKS, ends={}, are_copies_complete=True)
    known = rejoined(group(shown("new-1")), frozenset(), state)
    processes = [PlannedProcess(threads=2, rack="r", client_tags={"zone": "z"}), PlannedProcess()]
    found = with_processes(known, processes, frozenset({"in-0"}), {"new-1"}).members
    assert list(found) == ["new-1", "new-new-1-1", "new-new-1-2", "new-new-2-1"]
    first = found["new-new-1-1"]
    assert (first.process_id, first.rack_id, first.client_tags) == (ProcessId("new-new-1"), "r", {"zone": "z"})
    assert first.topics == {"in-0"}
    assert not first.owned_partitions
    assert not first.task_offset_sums
