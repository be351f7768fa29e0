"""Tasks change hands in two rounds."""

from kafka_groups.admin.rules.streams_leader.hand_over import HandedOver, hand_over, inputs_of_tasks
from kafka_groups.admin.rules.streams_leader.subscriptions import read_subscriptions
from kafka_groups.assignment import ProcessId
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import ToldMember
from tests.unit.admin.rules.streams_leader.scenes import IN, WORDS, A, B, asked, group, member, tasks

ZERO, ONE, TWO = tasks("0_0", "1_0", "1_1")
LATER = 1_900_000_000_000

Given = dict[str, tuple[tuple[TaskId, ...], tuple[TaskId, ...]]]


def handed(target: Given, *members: ToldMember, deadline: ProcessId | None = None) -> dict[str, HandedOver]:
    known = asked(group(*members)).tasks
    wanted = {
        id_: AssignedMember(frozenset(active), frozenset(standby), frozenset())
        for id_, (active, standby) in target.items()
    }
    subscriptions = read_subscriptions({each.member_id: each.subscription([IN, WORDS]) for each in members})
    deadlines = {} if deadline is None else {deadline: LATER}
    return hand_over(wanted, subscriptions, known, inputs_of_tasks(known), deadlines)


def test_tasks_that_nobody_owns_are_given_at_once() -> None:
    found = handed({"a": ((TWO, ZERO), (ONE,))}, member("a"))
    assert found == {"a": HandedOver((ZERO, TWO), (ONE,), None)}


def test_a_task_that_another_process_owns_is_left_out_and_its_new_owner_joins_again() -> None:
    found = handed({"a": ((), ()), "b": ((ONE, TWO), ())}, member("a", A, ONE), member("b", B))
    assert found == {"a": HandedOver((), (), None), "b": HandedOver((TWO,), (), 0)}


def test_a_task_moves_between_threads_of_a_process_in_two_rounds_as_well() -> None:
    found = handed({"a": ((), ()), "b": ((ONE,), ())}, member("a", A, ONE), member("b", A))
    assert found["b"] == HandedOver((), (), 0)


def test_a_task_waits_as_a_whole_for_one_of_its_partitions() -> None:
    joined = {TopicPartition(IN, 0), TopicPartition(IN, 1)}
    known = asked(group(member("a"))).tasks
    inputs = {**inputs_of_tasks(known), ZERO: tuple(sorted(joined))}
    members = [member("a", A, ZERO), member("b", B)]
    subscriptions = read_subscriptions({each.member_id: each.subscription([IN]) for each in members})
    target = {"b": AssignedMember(frozenset([ZERO]), frozenset(), frozenset())}
    assert hand_over(target, subscriptions, known, inputs, {})["b"] == HandedOver((), (), 0)


def test_one_of_two_processes_that_claim_a_task_keeps_it_at_once() -> None:
    found = handed({"a": ((ONE,), ()), "b": ((), ())}, member("a", A, ONE), member("b", B, ONE))
    assert found["a"] == HandedOver((ONE,), (), None)


def test_of_two_claims_within_a_process_the_last_one_counts() -> None:
    """In the order of Java's hash table, which has `aa` before `a`."""
    members = [member("aa", A, ONE), member("a", A, ONE)]
    assert handed({"aa": ((ONE,), ())}, *members)["aa"] == HandedOver((), (), 0)
    assert handed({"a": ((ONE,), ())}, *members)["a"] == HandedOver((ONE,), (), None)


def test_meanwhile_a_process_keeps_the_copy_that_it_had() -> None:
    found = handed({"b": ((ONE,), ())}, member("a", A, ONE), member("b", B, sums=((ONE, 7),)))
    assert found["b"] == HandedOver((), (ONE,), 0)


def test_the_copy_may_be_that_of_another_thread() -> None:
    members = [member("a", A, ONE), member("b", B), member("c", B, sums=((ONE, 7),))]
    assert handed({"b": ((ONE,), ())}, *members)["b"] == HandedOver((), (ONE,), 0)


def test_a_process_that_had_no_copy_gets_none_meanwhile() -> None:
    found = handed({"b": ((ONE,), ())}, member("a", A, ONE), member("b", B))
    assert found["b"].standby == ()


def test_a_process_that_ran_the_task_gets_no_copy_meanwhile() -> None:
    members = [member("a", A, ONE, sums=((ONE, RUNNING_TASK),)), member("b", A, sums=((ONE, 7),))]
    assert handed({"b": ((ONE,), ())}, *members)["b"] == HandedOver((), (), 0)


def test_stateless_tasks_have_no_copies_meanwhile() -> None:
    """Members of versions up to 6 report them, too."""
    found = handed({"b": ((ZERO,), ())}, member("a", A, ZERO), member("b", B, version=6, sums=((ZERO, 7),)))
    assert found["b"] == HandedOver((), (), 0)


def test_the_first_member_of_a_process_gets_its_deadline() -> None:
    found = handed({}, member("aa", A), member("a", A), member("b", B), deadline=ProcessId(A))
    assert {id_: each.next_rebalance_ms for id_, each in found.items()} == {"a": LATER, "aa": None, "b": None}


def test_nobody_gets_the_deadline_if_the_first_member_joins_again_at_once() -> None:
    members = [member("a", A), member("b", A), member("c", B, ONE)]
    found = handed({"a": ((ONE,), ())}, *members, deadline=ProcessId(A))
    assert {id_: each.next_rebalance_ms for id_, each in found.items()} == {"a": 0, "b": None, "c": None}


def test_others_that_join_again_at_once_leave_the_deadline_to_the_first() -> None:
    members = [member("a", A), member("b", A), member("c", B, ONE)]
    found = handed({"b": ((ONE,), ())}, *members, deadline=ProcessId(A))
    assert {id_: each.next_rebalance_ms for id_, each in found.items()} == {"a": LATER, "b": 0, "c": None}
