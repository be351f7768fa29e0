"""Subscriptions of Kafka Streams: what Java has encoded, and what is refused."""

from typing import Any
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.protocol.streams_user_data.subscription_info import (
    FutureSubscription,
    SubscriptionInfo,
    decode_subscription,
)
from kafka_groups.types import TaskId
from tests.support.members.user_data_golden import CAPTURED, EncodedUserData, encoded

GOLDEN = encoded("SubscriptionInfo")
PROCESS = UUID("00000000-0000-0001-0000-000000000002")
RUNNING, STANDBY, OTHER = TaskId("0", 1), TaskId("0", 2), TaskId("1", 0)


def expected(version: int) -> SubscriptionInfo:
    """What the golden bytes of a version say."""
    sums = ((RUNNING, RUNNING_TASK), (STANDBY, 7), (OTHER, UNKNOWN_OFFSET_SUM))
    only_kinds = ((RUNNING, RUNNING_TASK), (OTHER, UNKNOWN_OFFSET_SUM), (STANDBY, UNKNOWN_OFFSET_SUM))
    return SubscriptionInfo(
        process_id=PROCESS,
        version=version,
        task_offset_sums=sums if version >= 7 else only_kinds,
        user_endpoint="h:1",
        unique_field=5 if version >= 8 else 0,
        error_code=4 if version >= 9 else 0,
        client_tags=(("k", "v"),) if version >= 11 else (),
    )


def refused(data: bytes | None) -> MemberDataError:
    with pytest.raises(MemberDataError) as caught:
        decode_subscription(data)
    return caught.value


@pytest.mark.parametrize(
    "golden",
    [each for each in GOLDEN if each.version > 2 and not each.has_named_topology],
    ids=lambda each: each.version,
)
def test_what_java_has_encoded_is_read_and_written_again(golden: EncodedUserData) -> None:
    found = decode_subscription(golden.data)
    assert found == expected(golden.version)
    assert isinstance(found, SubscriptionInfo)
    assert found.encode() == golden.data
    assert decode_subscription(golden.data + b"what nobody reads") == found


def test_versions_of_kafka_streams_up_to_2_3_cannot_share_a_group() -> None:
    old = [each for each in GOLDEN if each.version < 3]
    assert [each.version for each in old] == [1, 2]
    for each in old:
        error = refused(each.data)
        assert error.problem is MemberDataProblem.TOO_OLD
        assert f"it is {each.version}. Kafka Streams 2.3 and older cannot share a group" in str(error)


def test_a_task_of_a_named_topology_is_refused() -> None:
    (named,) = [each for each in GOLDEN if each.has_named_topology]
    error = refused(named.data)
    assert (error.problem, error.field) == (MemberDataProblem.NAMED_TOPOLOGY, "SubscriptionInfo.taskOffsetSums")
    assert "'nt'" in str(error)


def test_of_a_version_above_the_latest_only_two_numbers_are_read() -> None:
    assert decode_subscription(b"\x00\x00\x00\x0c\x00\x00\x00\x0d?") == FutureSubscription(12, 13)
    assert refused(b"\x00\x00\x00\x0c\x00\x00\x00").problem is MemberDataProblem.BROKEN


def test_captured_subscriptions() -> None:
    joining = ConsumerProtocolSubscription.decode(CAPTURED["member_b_joins"])
    again = ConsumerProtocolSubscription.decode(CAPTURED["member_a_rejoins"])
    assert decode_subscription(joining.user_data) == SubscriptionInfo(
        process_id=UUID("430329a4-62ee-4386-8949-319706c11d07"),
        user_endpoint="host2:8082",
        unique_field=2,
        client_tags=(("zone", "z2"),),
    )
    found = decode_subscription(again.user_data)
    assert found == SubscriptionInfo(
        process_id=UUID("642beaad-2bb6-4cb8-9f72-17059bd2d120"),
        task_offset_sums=((TaskId("1", 0), RUNNING_TASK), (TaskId("1", 1), RUNNING_TASK)),
        user_endpoint="host1:8081",
        unique_field=4,
        client_tags=(("zone", "z1"),),
    )
    assert isinstance(found, SubscriptionInfo)
    assert found.encode() == again.user_data


def test_broken_bytes_are_told_apart() -> None:
    for golden in GOLDEN:
        sizes = range(1, len(golden.data)) if golden.version > 2 and not golden.has_named_topology else ()
        for size in sizes:
            assert refused(golden.data[:size]).problem is MemberDataProblem.BROKEN
    for nothing in (None, b""):
        assert "there is no user data" in str(refused(nothing))
    assert "it is -1" in str(refused(b"\xff" * 20))
    below = b"\x00\x00\x00\x0b\x00\x00\x00\x0a" + bytes(40)
    assert "it is 10, below version 11" in str(refused(below))


def test_a_list_has_no_more_items_than_bytes() -> None:
    start = expected(11).encode()[:24] + b"\x00\x00\x00\x00"
    error = refused(start + b"\x7f\xff\xff\xff" + bytes(40))
    assert "SubscriptionInfo.taskOffsetSums" in str(error)
    assert "it announces 2,147,483,647 items, and has 40 bytes left" in str(error)
    assert "-1 items" in str(refused(start + b"\xff\xff\xff\xff" + bytes(40)))


def test_text_is_text() -> None:
    data = evolve(expected(11), user_endpoint="ü:1").encode()
    assert decode_subscription(data) == evolve(expected(11), user_endpoint="ü:1")
    assert refused(data.replace("ü".encode(), b"\xff\xff")).field == "SubscriptionInfo.userEndPoint"
    assert refused(data[:-1] + b"\xff").field == "SubscriptionInfo.clientTags"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"version": 2}, "version"),
        ({"version": 12}, "version"),
        ({"unique_field": 128}, "uniqueField"),
        ({"error_code": 2**31}, "errorCode"),
        ({"latest_supported_version": 2**31}, "latestSupportedVersion"),
        ({"user_endpoint": "\ud800:1"}, "userEndPoint"),
        ({"client_tags": (("k", "\ud800"),)}, "clientTags"),
        ({"task_offset_sums": ((RUNNING, 2**63),)}, "taskOffsetSums"),
        ({"task_offset_sums": ((TaskId("counts", 0), 1),)}, "taskOffsetSums"),
        ({"task_offset_sums": ((TaskId("00", 0), 1),)}, "taskOffsetSums"),
        ({"version": 9, "task_offset_sums": ((TaskId("counts", 0), 1),)}, "taskOffsetSums"),
        ({"version": 6, "task_offset_sums": ((TaskId("counts", 0), RUNNING_TASK),)}, "prevTasks"),
        ({"version": 6, "task_offset_sums": ((TaskId(str(2**31), 0), 1),)}, "standbyTasks"),
    ],
)
def test_what_does_not_fit_is_not_written(change: dict[str, Any], field: str) -> None:
    with pytest.raises(MemberDataError) as caught:
        evolve(expected(11), **change).encode()
    assert caught.value.problem is MemberDataProblem.INVALID_VALUE
    assert caught.value.field == f"SubscriptionInfo.{field}"


def test_tasks_of_a_sub_topology_stand_together_in_versions_with_groups() -> None:
    apart = evolve(expected(7), task_offset_sums=((RUNNING, 1), (OTHER, 2), (STANDBY, 3)))
    found = decode_subscription(apart.encode())
    assert isinstance(found, SubscriptionInfo)
    assert found.task_offset_sums == ((RUNNING, 1), (STANDBY, 3), (OTHER, 2))
