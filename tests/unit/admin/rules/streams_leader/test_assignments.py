"""Assignments as SyncGroup has them."""

from typing import Any

from kafka_groups.admin.rules.streams_leader.assignments import encoded_assignments, encoded_errors, host_maps
from kafka_groups.admin.rules.streams_leader.hand_over import HandedOver
from kafka_groups.admin.rules.streams_leader.subscriptions import Subscriptions, read_subscriptions
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import ToldMember
from tests.unit.admin.rules.streams_leader.scenes import IN, WORDS, A, B, member, tasks

ONE, TEN, TWO = tasks("1_0", "10_0", "2_0")
INPUTS = {
    ONE: (TopicPartition("b", 0), TopicPartition("d", 0)),
    TEN: (TopicPartition("a", 10),),
    TWO: (TopicPartition("a", 2), TopicPartition("c", 0)),
}


def read(*members: ToldMember) -> Subscriptions:
    return read_subscriptions({each.member_id: each.subscription([IN, WORDS]) for each in members})


def decoded(data: bytes) -> tuple[Any, AssignmentInfo]:
    assignment = ConsumerProtocolAssignment.decode(data)
    return assignment.assigned_partitions, decode_assignment(assignment.user_data)


def test_tasks_are_in_the_order_of_their_partitions() -> None:
    handed = {"m": HandedOver((ONE, TWO, TEN), (), 7)}
    partitions, info = decoded(encoded_assignments(read(member("m")), handed, INPUTS, HostMaps())["m"])
    assert partitions == {"a": (2, 10), "b": (0,), "c": (0,), "d": (0,)}
    assert info.active_tasks == (TWO, TEN, ONE, TWO, ONE)
    assert info.next_rebalance_ms == 7


def test_copies_have_their_input_partitions() -> None:
    handed = {"m": HandedOver((), (TWO,), None)}
    _, info = decoded(encoded_assignments(read(member("m")), handed, INPUTS, HostMaps())["m"])
    assert info.standby_tasks == ((TWO, INPUTS[TWO]),)


def test_assignments_are_in_the_version_that_all_can_read() -> None:
    members = read(member("m", version=8, latest=10), member("n", B))
    handed = dict.fromkeys("mn", HandedOver((), (), None))
    for data in encoded_assignments(members, handed, INPUTS, HostMaps()).values():
        _, info = decoded(data)
        assert (info.version, info.commonly_supported_version) == (8, 10)


def test_an_error_goes_to_all_in_their_version() -> None:
    for data in encoded_errors(read(member("m", version=8, latest=10), member("n", B)), 3).values():
        partitions, info = decoded(data)
        assert (info.version, info.error_code, partitions) == (8, 3, {})


# ---------------------------------------------------------------------------------------------- host maps


def maps(target: dict[str, tuple[list[TaskId], list[TaskId]]], *members: ToldMember) -> HostMaps:
    given = {
        id_: AssignedMember(frozenset(active), frozenset(standby), frozenset())
        for id_, (active, standby) in target.items()
    }
    return host_maps(read(*members), given, INPUTS)


def test_a_host_has_the_partitions_of_all_its_threads() -> None:
    target = {"m": ([ONE], [TWO]), "n": ([TEN], []), "o": ([TWO], [])}
    found = maps(target, member("m", endpoint="h:1"), member("n", endpoint="h:1"), member("o", B))
    assert found.active == ((("h", 1), (TopicPartition("a", 10), *INPUTS[ONE])),)
    assert found.standby == ((("h", 1), INPUTS[TWO]),)


def test_a_host_without_tasks_has_no_partitions() -> None:
    assert maps({}, member("m", endpoint="h:1")) == HostMaps(((("h", 1), ()),), ((("h", 1), ()),))


def test_of_two_processes_with_one_host_one_is_told() -> None:
    found = maps({"m": ([ONE], []), "n": ([TEN], [])}, member("m", A, endpoint="h:1"), member("n", B, endpoint="h:1"))
    assert found.active == ((("h", 1), INPUTS[TEN]),)
