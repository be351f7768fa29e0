"""Examples of what `sticky` decides; the properties are in tests/properties."""

from collections.abc import Mapping

from kafka_groups.assignment import (
    DescribedSubtopology,
    GroupAssignorConfigs,
    MemberAssignment,
    MemberAssignments,
    StickyGroupAssignor,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TopologyDescriber,
)


def tasks(*partitions: int) -> dict[str, set[int]]:
    """Tasks of subtopology 0."""
    return {"0": set(partitions)} if partitions else {}


def assigned(
    count: int, members: Mapping[str, StreamsMemberSpec], standbys: int = 0, *, is_stateful: bool = True
) -> Mapping[str, MemberAssignment]:
    topology = TopologyDescriber({"0": DescribedSubtopology(count, is_stateful)})
    return StickyGroupAssignor().assign(StreamsGroupSpec(members, GroupAssignorConfigs(standbys)), topology).members


def test_a_group_without_members_is_assigned_nothing() -> None:
    assert StickyGroupAssignor().assign(StreamsGroupSpec({}), TopologyDescriber({})) == MemberAssignments({})


def test_every_member_is_in_the_assignment() -> None:
    assert assigned(1, {"a": StreamsMemberSpec("1"), "b": StreamsMemberSpec("2")}) == {
        "a": MemberAssignment(tasks(0)),
        "b": MemberAssignment(),
    }


def test_new_tasks_alternate_between_processes() -> None:
    found = assigned(6, {name: StreamsMemberSpec(name[0]) for name in ("x1", "x2", "y1")})
    assert [found[name].active_tasks for name in ("x1", "y1", "x2")] == [tasks(0, 3), tasks(1, 4), tasks(2, 5)]


def test_a_task_stays_with_its_former_owner() -> None:
    found = assigned(2, {"a": StreamsMemberSpec("1", active_tasks=tasks(1)), "b": StreamsMemberSpec("2")})
    assert found["a"].active_tasks == tasks(1)
    assert found["b"].active_tasks == tasks(0)


def test_tasks_beyond_a_fair_share_move() -> None:
    found = assigned(4, {"a": StreamsMemberSpec("1", active_tasks=tasks(0, 1, 2, 3)), "b": StreamsMemberSpec("2")})
    assert found["a"].active_tasks == tasks(0, 1)
    assert found["b"].active_tasks == tasks(2, 3)


def test_a_former_standby_task_becomes_active_when_the_owner_is_gone() -> None:
    found = assigned(2, {"a": StreamsMemberSpec("1"), "b": StreamsMemberSpec("2", standby_tasks=tasks(0))})
    assert found["b"].active_tasks == tasks(0)


def test_the_highest_reported_offset_wins() -> None:
    found = assigned(
        1,
        {
            "a": StreamsMemberSpec("1", task_offsets={"0": {0: 5}}),
            "b": StreamsMemberSpec("2"),
            "c": StreamsMemberSpec("3", task_offsets={"0": {0: 70}}),
        },
    )
    assert found["c"].active_tasks == tasks(0)


def test_a_former_standby_task_comes_before_any_offset() -> None:
    found = assigned(
        1,
        {
            "a": StreamsMemberSpec("1", task_offsets={"0": {0: 90}}),
            "b": StreamsMemberSpec("2", standby_tasks=tasks(0), task_offsets={"0": {0: 1}}),
        },
    )
    assert found["b"].active_tasks == tasks(0)


def test_a_task_prefers_another_member_of_its_former_owners_process() -> None:
    found = assigned(
        3,
        {
            "x1": StreamsMemberSpec("x", active_tasks=tasks(0, 1)),
            "x2": StreamsMemberSpec("x"),
            "y1": StreamsMemberSpec("y"),
        },
    )
    assert [found[name].active_tasks for name in ("x1", "x2", "y1")] == [tasks(0), tasks(1), tasks(2)]


def test_a_process_that_comes_back_gets_the_tasks_that_it_has_state_of() -> None:
    found = assigned(
        4,
        {
            "a": StreamsMemberSpec("1", active_tasks=tasks(0, 1, 2, 3)),
            "b": StreamsMemberSpec("2", task_offsets={"0": {0: 100, 1: 100}}),
        },
    )
    assert found["a"].active_tasks == tasks(2, 3)


def test_extra_tasks_stay_in_the_process_that_would_have_to_give_them_away() -> None:
    found = assigned(
        4,
        {
            "x1": StreamsMemberSpec("x", active_tasks=tasks(0, 1)),
            "x2": StreamsMemberSpec("x"),
            "y1": StreamsMemberSpec("y", active_tasks=tasks(2, 3)),
        },
    )
    assert found["y1"].active_tasks == tasks(2, 3)


def test_a_former_owner_keeps_the_state_as_a_standby_task() -> None:
    found = assigned(
        2,
        {
            "a": StreamsMemberSpec("1", active_tasks=tasks(0, 1)),
            "b": StreamsMemberSpec("2", standby_tasks=tasks(1)),
            "c": StreamsMemberSpec("3", standby_tasks=tasks(0)),
        },
        standbys=1,
    )
    assert found["a"] == MemberAssignment(tasks(0), tasks(1))
    assert found["b"].active_tasks == tasks(1)
    assert found["c"].standby_tasks == tasks(0)


def test_standby_tasks_stay_even_if_another_member_has_nothing() -> None:
    members = {
        "a": StreamsMemberSpec("1", active_tasks=tasks(0), standby_tasks=tasks(1)),
        "b": StreamsMemberSpec("2", active_tasks=tasks(1), standby_tasks=tasks(0)),
        "c": StreamsMemberSpec("3"),
    }
    found = assigned(2, members, standbys=1)
    assert [found[name].standby_tasks for name in "abc"] == [tasks(1), tasks(0), {}]


def test_standby_tasks_use_reported_state() -> None:
    members = {
        "a": StreamsMemberSpec("1", active_tasks=tasks(0)),
        "b": StreamsMemberSpec("2"),
        "c": StreamsMemberSpec("3", task_offsets={"0": {0: 10}}),
    }
    assert assigned(1, members, standbys=1)["c"].standby_tasks == tasks(0)


def test_standby_tasks_beyond_an_equal_share_move() -> None:
    members = {
        "a": StreamsMemberSpec("1", active_tasks=tasks(0, 1)),
        "b": StreamsMemberSpec("2", active_tasks=tasks(2), standby_tasks=tasks(0, 1, 3)),
        "c": StreamsMemberSpec("3", active_tasks=tasks(3)),
    }
    found = assigned(4, members, standbys=1)
    loads = [sum(map(len, (*mine.active_tasks.values(), *mine.standby_tasks.values()))) for mine in found.values()]
    assert sorted(loads) == [2, 3, 3]
    assert len(found["b"].standby_tasks["0"] & {0, 1, 3}) == 2


def test_stateless_tasks_have_no_standby_tasks() -> None:
    found = assigned(4, {"a": StreamsMemberSpec("1"), "b": StreamsMemberSpec("2")}, standbys=1, is_stateful=False)
    assert not any(mine.standby_tasks for mine in found.values())


def test_there_are_no_more_standby_tasks_than_other_processes() -> None:
    found = assigned(
        1, {"a": StreamsMemberSpec("1"), "b": StreamsMemberSpec("1"), "c": StreamsMemberSpec("2")}, standbys=2
    )
    assert sorted(sum(map(len, mine.standby_tasks.values())) for mine in found.values()) == [0, 0, 1]


def test_previous_tasks_that_no_longer_exist_are_ignored() -> None:
    gone = {"0": {0, 7}, "gone": {0}}
    offsets = {"0": {9: 5}, "gone": {0: 5}}
    found = assigned(1, {"a": StreamsMemberSpec("1", active_tasks=gone, standby_tasks=gone, task_offsets=offsets)})
    assert found["a"] == MemberAssignment(tasks(0))
