import pytest

from kafka_groups.assignment import (
    DescribedSubtopology,
    MemberAssignment,
    MemberAssignments,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TaskAssignorError,
    TopologyDescriber,
    check_assignment,
)

GROUP = StreamsGroupSpec(
    {
        "one": StreamsMemberSpec("first"),
        "two": StreamsMemberSpec("first"),
        "three": StreamsMemberSpec("second"),
    }
)
TOPOLOGY = TopologyDescriber({"0": DescribedSubtopology(2, is_stateful=True), "1": DescribedSubtopology(10)})


def check(**members: MemberAssignment) -> None:
    check_assignment(MemberAssignments(members), GROUP, TOPOLOGY)


def test_a_usable_assignment_is_accepted() -> None:
    check(
        one=MemberAssignment({"0": {0}, "1": set(range(10))}),
        two=MemberAssignment(standby_tasks={"0": {1}}),
        three=MemberAssignment({"0": {1}}, {"0": {0}}),
    )


def test_tasks_and_members_may_be_left_out() -> None:
    check(one=MemberAssignment({"0": {0}}))


def test_unknown_members_are_refused() -> None:
    with pytest.raises(TaskAssignorError, match=r"assigns tasks to unknown members: four, zero$"):
        check(one=MemberAssignment(), zero=MemberAssignment(), four=MemberAssignment())


@pytest.mark.parametrize(
    ("tasks", "named"), [({"2": {0}}, "2_0"), ({"0": {2}}, "0_2"), ({"1": {-1}}, "1_-1")], ids=["id", "end", "negative"]
)
def test_unknown_tasks_are_refused(tasks: dict[str, set[int]], named: str) -> None:
    for assigned in (MemberAssignment(tasks), MemberAssignment(standby_tasks=tasks)):
        with pytest.raises(TaskAssignorError, match=f"assigns unknown tasks: {named} to member 'two'$"):
            check(two=assigned)


def test_active_tasks_with_two_owners_are_refused() -> None:
    with pytest.raises(TaskAssignorError, match=r"active tasks to several members: 0_1 to members 'one' and 'three'$"):
        check(one=MemberAssignment({"0": {0, 1}}), three=MemberAssignment({"0": {1}}))


@pytest.mark.parametrize("other", ["one", "two"])
def test_two_copies_of_a_task_in_one_process_are_refused(other: str) -> None:
    standby = {"0": {0}}
    members = {"one": MemberAssignment({"0": {0}}), "two": MemberAssignment()}
    members[other] = MemberAssignment(members[other].active_tasks, standby)
    with pytest.raises(TaskAssignorError, match=r"one process several times: 0_0 in process 'first'$"):
        check(**members)


def test_two_standby_tasks_of_a_task_in_one_process_are_refused() -> None:
    standby = MemberAssignment(standby_tasks={"0": {1}})
    with pytest.raises(TaskAssignorError, match=r"0_1 in process 'first'$"):
        check(one=standby, two=standby)


def test_a_message_names_the_first_five() -> None:
    with pytest.raises(TaskAssignorError, match=r"2_0 to member 'one', .*2_4 to member 'one' and 5 more$"):
        check(one=MemberAssignment({"2": frozenset(range(10))}))
