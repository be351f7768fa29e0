"""The subscriptions of members, read by the leader."""

from uuid import UUID

import pytest

from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.admin.rules.streams_leader.subscriptions import FUTURE_PROCESS, read_subscriptions
from kafka_groups.assignment import ProcessId
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafka_groups.protocol.member_data import INT32
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import FUTURE_VERSION
from tests.unit.admin.rules.streams_leader.scenes import A, member


def with_user_data(data: bytes | None) -> bytes:
    return ConsumerProtocolSubscription(topics=("in",), user_data=data).encode()


def test_a_member_is_read() -> None:
    info = SubscriptionInfo(
        process_id=A,
        task_offset_sums=((TaskId("1", 0), 7),),
        user_endpoint="host:80",
        client_tags=(("zone", "z1"),),
    )
    data = ConsumerProtocolSubscription(
        topics=("in",), user_data=info.encode(), owned_partitions={"in": (0, 2)}, generation_id=5, rack_id="r"
    ).encode()
    found = read_subscriptions({"m": data}).members["m"]
    assert (found.process_id, found.topics, found.generation_id) == (ProcessId(A), frozenset(["in"]), 5)
    assert found.owned_partitions == {TopicPartition("in", 0), TopicPartition("in", 2)}
    assert (found.rack_id, found.user_endpoint, found.client_tags) == ("r", "host:80", {"zone": "z1"})
    assert found.task_offset_sums == {TaskId("1", 0): 7}
    assert not found.requests_shutdown


def test_all_use_the_lowest_version_and_agree_on_the_lowest_latest_one() -> None:
    members = [member("a", version=7, latest=11), member("b", version=9, latest=9), member("c", version=10)]
    found = read_subscriptions({each.member_id: each.subscription(["in"]) for each in members})
    assert (found.version, found.common_version) == (7, 9)


def test_members_of_later_versions_are_one_process() -> None:
    members = [member(name, UUID(int=at), version=FUTURE_VERSION, latest=20) for at, name in enumerate("ab")]
    found = read_subscriptions({each.member_id: each.subscription(["in"]) for each in members})
    assert list(found.processes) == [FUTURE_PROCESS]
    assert (found.version, found.common_version) == (11, 11)


def test_a_request_for_shutdown_counts_from_version_9_on() -> None:
    asking = {
        str(version): with_user_data(SubscriptionInfo(process_id=A, version=version, error_code=4).encode())
        for version in (8, 9, 11)
    }
    other = with_user_data(SubscriptionInfo(process_id=A, error_code=1).encode())
    assert read_subscriptions(asking | {"other": other}).requesting_shutdown == ("11", "9")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_user_data(None), r"member x: .*Look for a program that is no streams application"),
        (with_user_data(SubscriptionInfo(process_id=A).encode()[:20]), r"member x: .*Look for a program"),
        (with_user_data(INT32.pack(2) + bytes(40)), r"member x: .*Kafka Streams 2\.3.*Upgrade that member"),
        (b"\x00", r"member x: .*Look for a program"),
    ],
    ids=["none", "cut", "version 2", "no subscription"],
)
def test_bytes_that_cannot_be_read_name_their_member(data: bytes, message: str) -> None:
    with pytest.raises(LeadingError, match=message):
        read_subscriptions({"x": data, "y": member("y").subscription(["in"])})


def test_named_topologies_name_their_member() -> None:
    info = SubscriptionInfo(process_id=A, version=10, task_offset_sums=((TaskId("1", 0), 7),)).encode()
    named = info[: info.index(b"\xff\xff", 30)] + b"\x00\x01n" + info[info.index(b"\xff\xff", 30) + 2 :]
    with pytest.raises(LeadingError, match=r"member x: .*another application\.id"):
        read_subscriptions({"x": with_user_data(named)})


def test_processes_have_their_members_in_the_order_of_javas_hash_table() -> None:
    members = [member(name) for name in ("b", "a", "aa", "Aa")]
    found = read_subscriptions({each.member_id: each.subscription(["in"]) for each in members})
    assert [each.member_id for each in found.processes[ProcessId(A)]] == ["aa", "Aa", "a", "b"]
