"""Assignments as SyncGroup has them."""

from typing import Any

from kafka_groups.admin.rules.streams_leader.assignments import (
    assignments_of_members,
    encoded_errors,
    host_maps,
    told_to_assignor,
)
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


def encoded(members: Subscriptions, handed: dict[str, HandedOver]) -> dict[str, bytes]:
    assignments = assignments_of_members(members, handed, INPUTS, HostMaps())
    return {member_id: each.encode() for member_id, each in assignments.items()}


def test_tasks_are_in_the_order_of_their_partitions() -> None:
    handed = {"m": HandedOver((ONE, TWO, TEN), (), 7)}
    partitions, info = decoded(encoded(read(member("m")), handed)["m"])
    assert partitions == {"a": (2, 10), "b": (0,), "c": (0,), "d": (0,)}
    assert info.active_tasks == (TWO, TEN, ONE, TWO, ONE)
    assert info.next_rebalance_ms == 7


def test_copies_have_their_input_partitions() -> None:
    handed = {"m": HandedOver((), (TWO,), None)}
    _, info = decoded(encoded(read(member("m")), handed)["m"])
    assert info.standby_tasks == ((TWO, INPUTS[TWO]),)


def test_assignments_are_in_the_version_that_all_can_read() -> None:
    members = read(member("m", version=8, latest=10), member("n", B))
    handed = dict.fromkeys("mn", HandedOver((), (), None))
    for data in encoded(members, handed).values():
        _, info = decoded(data)
        assert (info.version, info.commonly_supported_version) == (8, 10)


def test_an_error_goes_to_all_in_their_version() -> None:
    for data in encoded_errors(read(member("m", version=8, latest=10), member("n", B)), 3).values():
        partitions, info = decoded(data)
        assert (info.version, info.error_code, partitions) == (8, 3, {})


def test_the_assignor_is_told_what_members_get_and_the_bytes_of_it() -> None:
    handed = {"m": HandedOver((TEN, TWO), (ONE,), 0), "n": HandedOver((), (), None)}
    assignments = assignments_of_members(read(member("m"), member("n", B)), handed, INPUTS, HostMaps())
    told = told_to_assignor(handed, INPUTS, assignments).members
    its = {*INPUTS[TEN], *INPUTS[TWO]}
    data = {id_: ConsumerProtocolAssignment.decode(each.encode()).user_data for id_, each in assignments.items()}
    assert told["m"] == AssignedMember(frozenset({TEN, TWO}), frozenset({ONE}), frozenset(its), data["m"])
    assert told["n"] == AssignedMember(frozenset(), frozenset(), frozenset(), data["n"])
    assert data["m"] != data["n"]


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
