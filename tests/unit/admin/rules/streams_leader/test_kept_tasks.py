"""Members keep what they have while the assignor cannot tell."""

import pytest
from attrs import evolve

from kafka_groups.admin.rules.streams_leader.hand_over import inputs_of_tasks
from kafka_groups.admin.rules.streams_leader.kept_tasks import as_handed_over, kept_tasks, pause_after_ms
from kafka_groups.admin.rules.streams_leader.subscriptions import read_subscriptions
from kafka_groups.assignment import AssignedMember
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import ToldMember
from tests.unit.admin.rules.streams_leader.scenes import IN, WORDS, A, B, C, asked, group, member, tasks

TASKS = asked(group(member("m"))).tasks
INPUTS = inputs_of_tasks(TASKS)
FIRST = TaskId("1", 0)


def kept(*members: ToldMember, most_copies: int = 1) -> dict[str, AssignedMember]:
    read = read_subscriptions({each.member_id: each.subscription([IN, WORDS]) for each in members})
    return kept_tasks(read, TASKS, INPUTS, most_copies)


def active(*members: ToldMember) -> dict[str, set[TaskId]]:
    return {id_: set(each.active_tasks) for id_, each in kept(*members).items()}


def copies(*members: ToldMember, most_copies: int = 1) -> set[str]:
    """The members with a copy of the first task with state."""
    found = kept(*members, most_copies=most_copies)
    assert set().union(*(each.standby_tasks for each in found.values())) <= {FIRST}
    return {id_ for id_, each in found.items() if each.standby_tasks}


def test_members_keep_what_they_own_and_nobody_gets_the_rest() -> None:
    found = kept(member("m", A, *tasks("0_0", "1_1")), member("n", B, *tasks("0_1")), member("o", B))
    assert {id_: set(each.active_tasks) for id_, each in found.items()} == {
        "m": set(tasks("0_0", "1_1")),
        "n": set(tasks("0_1")),
        "o": set(),
    }
    assert found["m"].partitions == {TopicPartition(IN, 0), TopicPartition(WORDS, 1)}


def test_of_two_that_own_a_task_the_later_generation_counts() -> None:
    old, new = member("m", A, FIRST, generation=3), member("n", B, FIRST, generation=4)
    assert active(old, new) == {"m": set(), "n": {FIRST}}
    assert active(evolve(old, generation=5), new) == {"m": {FIRST}, "n": set()}


def test_of_two_with_the_same_claim_one_keeps_it() -> None:
    assert active(member("n", A, FIRST), member("m", A, FIRST)) == {"m": set(), "n": {FIRST}}


def test_partitions_that_no_task_reads_are_nobodys() -> None:
    strange = evolve(member("m"), owned=frozenset({TopicPartition("other", 0), TopicPartition(IN, 9)}))
    assert active(strange) == {"m": set()}


MERGED = {FIRST: (TopicPartition("a", 0), TopicPartition("b", 0))}


def test_a_task_that_has_gained_a_partition_is_kept_with_it() -> None:
    owner = evolve(member("m"), owned=frozenset({TopicPartition("a", 0)}))
    read = read_subscriptions({"m": owner.subscription("ab")})
    assert kept_tasks(read, TASKS, MERGED, 0)["m"].partitions == {*MERGED[FIRST]}


def test_a_task_of_which_two_own_different_parts_is_given_up() -> None:
    owners = [
        evolve(member(id_), owned=frozenset({TopicPartition(topic, 0)})) for id_, topic in (("m", "a"), ("n", "b"))
    ]
    read = read_subscriptions({each.member_id: each.subscription("ab") for each in owners})
    assert not any(each.active_tasks for each in kept_tasks(read, TASKS, MERGED, 0).values())


# ------------------------------------------------------------------------------------------------ copies


def test_the_fullest_copies_are_kept() -> None:
    owner = member("m", A, FIRST, sums=((FIRST, RUNNING_TASK),))
    some, more = member("n", B, sums=((FIRST, 5),)), member("o", C, sums=((FIRST, 7),))
    assert copies(owner, some, more, most_copies=0) == set()
    assert copies(owner, some, more, most_copies=1) == {"o"}
    assert copies(owner, some, more, most_copies=2) == {"n", "o"}


def test_of_equal_copies_the_smallest_process_keeps_its() -> None:
    assert copies(member("m", C, sums=((FIRST, 5),)), member("n", B, sums=((FIRST, 5),))) == {"n"}


def test_a_process_has_no_copy_of_a_task_that_it_runs_or_two() -> None:
    assert copies(member("m", A, FIRST), member("n", A, sums=((FIRST, 5),)), most_copies=2) == set()
    assert len(copies(member("m", A, sums=((FIRST, 5),)), member("n", A, sums=((FIRST, 5),)), most_copies=2)) == 1


def test_an_active_task_that_is_restored_is_no_copy() -> None:
    found = kept(member("m", A, FIRST, sums=((FIRST, 5),)))
    assert found["m"].active_tasks == {FIRST}
    assert found["m"].standby_tasks == set()


def test_tasks_without_state_and_strange_ones_have_no_copies() -> None:
    assert copies(member("m", A, sums=((TaskId("0", 0), 5), (TaskId("97", 0), 5)))) == set()


# ------------------------------------------------------------------------------------------------- times


def test_the_leader_joins_again() -> None:
    found = as_handed_over(kept(member("m", A, FIRST, *tasks("0_1")), member("n", B, sums=((FIRST, 5),))), "n", 17)
    assert (found["m"].active, found["m"].standby, found["m"].next_rebalance_ms) == (tasks("0_1", "1_0"), (), None)
    assert (found["n"].active, found["n"].standby, found["n"].next_rebalance_ms) == ((), (FIRST,), 17)


@pytest.mark.parametrize(("pause_ms", "wanted"), [(1_000, [1, 2, 4, 8, 16, 30, 30]), (40_000, [30] * 7)])
def test_pauses_grow_to_half_a_minute(pause_ms: int, wanted: list[int]) -> None:
    assert [pause_after_ms(pause_ms, times) // 1_000 for times in range(7)] == wanted
