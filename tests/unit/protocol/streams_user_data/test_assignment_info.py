"""Assignments of Kafka Streams: what Java has encoded, and what is refused."""

from typing import Any

import pytest
from attrs import evolve

from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.types import TaskId, TopicPartition
from tests.support.members.user_data_golden import CAPTURED, EncodedUserData, encoded

GOLDEN = encoded("AssignmentInfo")
READABLE = [each for each in GOLDEN if each.version > 2 and not each.has_named_topology]
ACTIVE, STANDBY = TaskId("0", 1), TaskId("1", 0)
HOST = ("h", 1)


def expected(version: int) -> AssignmentInfo:
    """What the golden bytes of a version say."""
    standby = ((HOST, (TopicPartition("u", 0),)),) if version >= 6 else ()
    return AssignmentInfo(
        version=version,
        commonly_supported_version=11,
        active_tasks=(ACTIVE, ACTIVE),
        standby_tasks=((STANDBY, (TopicPartition("t", 0),)),),
        host_maps=HostMaps(((HOST, (TopicPartition("t", 1),)),), standby),
        error_code=3 if version >= 4 else 0,
        next_rebalance_ms=0 if version >= 7 else None,
    )


def refused(data: bytes | None) -> MemberDataError:
    with pytest.raises(MemberDataError) as caught:
        decode_assignment(data)
    return caught.value


@pytest.mark.parametrize("golden", READABLE, ids=lambda each: each.version)
def test_what_java_has_encoded_is_read_and_written_again(golden: EncodedUserData) -> None:
    found = decode_assignment(golden.data)
    assert found == expected(golden.version)
    assert found.encode() == golden.data
    assert expected(golden.version).encode() == golden.data
    assert decode_assignment(golden.data + b"what nobody reads") == found


def test_the_captured_assignment() -> None:
    assignment = ConsumerProtocolAssignment.decode(CAPTURED["assignment_of_b"])
    assert assignment.assigned_partitions == {}
    counts = "wcapp-counts-repartition"
    found = decode_assignment(assignment.user_data)
    assert found == AssignmentInfo(
        standby_tasks=((TaskId("1", 1), (TopicPartition(counts, 1),)),),
        host_maps=HostMaps(
            active=(
                (("host2", 8082), (TopicPartition(counts, 0), TopicPartition("in", 0))),
                (("host1", 8081), (TopicPartition("in", 1), TopicPartition(counts, 1))),
            ),
            standby=(
                (("host2", 8082), (TopicPartition(counts, 1),)),
                (("host1", 8081), (TopicPartition(counts, 0),)),
            ),
        ),
        next_rebalance_ms=0,
    )
    assert found.encode() == assignment.user_data


def test_no_further_rebalance_is_the_largest_number() -> None:
    data = AssignmentInfo().encode()
    assert data.endswith(b"\x7f" + b"\xff" * 7)
    assert decode_assignment(data) == AssignmentInfo()


def test_reasons_are_told_apart() -> None:
    for each in GOLDEN:
        if each.version < 3:
            assert refused(each.data).problem is MemberDataProblem.TOO_OLD
        if each.has_named_topology:
            error = refused(each.data)
            assert (error.problem, error.field) == (MemberDataProblem.NAMED_TOPOLOGY, "AssignmentInfo.activeTasks")
            assert "'nt'" in str(error)
    error = refused(b"\x00\x00\x00\x0c" + READABLE[-1].data[4:])
    assert error.problem is MemberDataProblem.TOO_NEW
    assert "it is 12, and 11 is the latest that is known" in str(error)
    for nothing in (None, b""):
        assert "there is no user data" in str(refused(nothing))


def test_broken_bytes_are_refused() -> None:
    for golden in READABLE:
        for size in range(1, len(golden.data)):
            assert refused(golden.data[:size]).problem is MemberDataProblem.BROKEN


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"version": 12}, "version"),
        ({"active_tasks": (TaskId("counts", 0),)}, "activeTasks"),
        ({"standby_tasks": ((STANDBY, (TopicPartition("t" * 65_536, 0),)),)}, "standbyTasks"),
        ({"host_maps": HostMaps((((HOST[0], 2**31), ()),))}, "partitionsByHost"),
        ({"error_code": -(2**31) - 1}, "errCode"),
        ({"next_rebalance_ms": 2**63}, "nextRebalanceMs"),
    ],
)
def test_what_does_not_fit_is_not_written(change: dict[str, Any], field: str) -> None:
    with pytest.raises(MemberDataError) as caught:
        evolve(expected(11), **change).encode()
    assert caught.value.problem is MemberDataProblem.INVALID_VALUE
    assert caught.value.field == f"AssignmentInfo.{field}"


def test_tasks_belong_to_partitions_in_the_order_of_topic_and_number() -> None:
    """Leaders in Java write topics and partitions in the order of hash tables."""
    info = AssignmentInfo(active_tasks=(ACTIVE, ACTIVE, TaskId("0", 2), STANDBY))
    found = info.inputs({"t": (2, 1), "s": (1,), "u": (0,)})
    assert found == {
        ACTIVE: {TopicPartition("s", 1), TopicPartition("t", 1)},
        TaskId("0", 2): {TopicPartition("t", 2)},
        STANDBY: {TopicPartition("u", 0)},
    }


def test_another_number_of_partitions_than_of_tasks_is_refused() -> None:
    with pytest.raises(
        MemberDataError, match=r"^The assignment has 2 partitions, and names the tasks of 1\.$"
    ) as caught:
        AssignmentInfo(active_tasks=(ACTIVE,)).inputs({"t": (0, 1)})
    assert (caught.value.problem, caught.value.field) == (MemberDataProblem.BROKEN, "AssignmentInfo.activeTasks")
