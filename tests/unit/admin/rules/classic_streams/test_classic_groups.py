"""Classic groups in the answers of brokers: those of streams applications are read, others are refused by name."""

import asyncio
from typing import Any

import pytest

from kafka_groups.admin.rules.classic_streams.classic_groups import (
    DecodedClassicGroup,
    read_classic_group,
    shown_classic_groups,
)
from kafka_groups.client.calls.questions import Question, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import GroupIdNotFoundError, IllegalStateError, MemberDataError, MemberDataProblem
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.member_data import INT32
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponse, DescribeGroupsResponseGroup
from kafka_groups.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.types import TaskId, TopicPartition
from tests.support.members.shown_classic_groups import PROCESS, assigned, joined_with, shown_group, shown_member
from tests.support.members.user_data_golden import CAPTURED

A, B = TaskId("0", 0), TaskId("1", 0)


def test_what_members_and_the_leader_have_sent_is_kept_as_it_is() -> None:
    info = SubscriptionInfo(process_id=PROCESS, user_endpoint="h:1", task_offset_sums=((A, 5),))
    metadata = joined_with(info, owned_partitions={"orders": (0, 2)}, generation_id=4, rack_id="r")
    given = AssignmentInfo(active_tasks=(A, B), standby_tasks=((TaskId("0", 1), (TopicPartition("orders", 1),)),))
    member = shown_member(
        group_instance_id="i", member_metadata=metadata, member_assignment=assigned(given, orders=(0,), words=(0,))
    )
    group = read_classic_group(shown_group(member))
    (found,) = group.members
    assert (group.group_id, group.state, group.subscribed_topics) == ("app", "Stable", frozenset({"orders"}))
    assert (found.metadata, found.info, found.assignment_info) == (metadata, info, given)
    assert (found.subscription.rack_id, found.subscription.generation_id, found.instance_id) == ("r", 4, "i")
    assert found.owned_partitions == {TopicPartition("orders", 0), TopicPartition("orders", 2)}
    assert found.inputs == {A: {TopicPartition("orders", 0)}, B: {TopicPartition("words", 0)}}
    assert (found.standby_tasks, found.endpoint) == (frozenset({TaskId("0", 1)}), ("h", 1))


def test_what_java_has_sent_is_read() -> None:
    member = shown_member(member_metadata=CAPTURED["member_b_joins"], member_assignment=CAPTURED["assignment_of_b"])
    (found,) = read_classic_group(shown_group(member)).members
    assert (found.endpoint, found.info.client_tags) == (("host2", 8082), (("zone", "z2"),))
    assert found.inputs == {}
    assert found.standby_tasks == {TaskId("1", 1)}


def test_host_maps_that_all_members_have_are_read_once() -> None:
    """With the endpoints of 100 processes, they are nearly all of the 7 MB that 200 members have."""
    maps = HostMaps(((("h", 1), (TopicPartition("orders", 0),)),))
    members = (
        shown_member(member_id=f"m-{each}", member_assignment=assigned(AssignmentInfo(host_maps=maps)))
        for each in range(3)
    )
    found = [each.assignment_info.host_maps for each in read_classic_group(shown_group(*members)).members]
    assert found == [maps] * 3
    assert len({id(each) for each in found}) == 1


def test_a_group_without_members_is_read_as_such() -> None:
    shown = shown_group(group_state="Empty", protocol_data="")
    assert read_classic_group(shown) == DecodedClassicGroup(group_id="app", state="Empty")


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_a_group_that_rebalances_shows_nothing_of_its_members(state: str) -> None:
    member = shown_member(member_metadata=b"", member_assignment=b"")
    with pytest.raises(IllegalStateError) as caught:
        read_classic_group(shown_group(member, group_state=state, protocol_data=""))
    assert f"app is {state} (protocol type 'consumer', 1 member). Brokers show" in str(caught.value)


FUTURE = INT32.pack(12) + INT32.pack(12)
BROKEN: dict[str, tuple[dict[str, Any], MemberDataProblem, str]] = {
    "no subscription": ({"member_metadata": b""}, MemberDataProblem.BROKEN, "ConsumerProtocolSubscription.version"),
    "no user data": ({"member_metadata": joined_with(b"")}, MemberDataProblem.BROKEN, "there is no user data"),
    "other user data": ({"member_metadata": joined_with(b"sticky")}, MemberDataProblem.BROKEN, "SubscriptionInfo"),
    "old": ({"member_metadata": joined_with(INT32.pack(2))}, MemberDataProblem.TOO_OLD, "Kafka Streams 2.3 and older"),
    "new": (
        {"member_metadata": joined_with(FUTURE)},
        MemberDataProblem.TOO_NEW,
        "version 12, and 11 is the latest that is known. Upgrade kafka_groups.",
    ),
    "no endpoint": (
        {"member_metadata": joined_with(SubscriptionInfo(process_id=PROCESS, user_endpoint="here"))},
        MemberDataProblem.BROKEN,
        "Its application.server is 'here' and not of the form host:port.",
    ),
    "no assignment": ({"member_assignment": b""}, MemberDataProblem.BROKEN, "there is no user data"),
    "another assignment": (
        {"member_assignment": ConsumerProtocolAssignment({"orders": (0,)}, b"x").encode()},
        MemberDataProblem.BROKEN,
        "AssignmentInfo.version",
    ),
    "unequal": ({"member_assignment": assigned(orders=(0,))}, MemberDataProblem.BROKEN, "has 1 partition, and names"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_data_that_cannot_be_read_is_an_error_that_names_the_member(case: str) -> None:
    fields, problem, text = BROKEN[case]
    with pytest.raises(MemberDataError) as caught:
        read_classic_group(shown_group(shown_member(), shown_member(member_id="m-2", client_id="c", **fields)))
    assert caught.value.problem is problem
    start = "The classic group app (Stable, protocol 'stream') has the member m-2 of the client c, whose data"
    assert str(caught.value).startswith(start)
    assert text in str(caught.value)


# ------------------------------------------------------------------------------------------------ the question

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "dead, and listed": (
        {"group_state": "Dead", "protocol_type": ""}, "The group app is a consumer group and not a classic group."
    ),
    "consumers": (
        {"protocol_data": "range"},
        "The group app is a classic group with the protocol type 'consumer' and the protocol 'range'. That of a",
    ),
    "connect": ({"protocol_type": "connect"}, "type 'connect' and the protocol 'stream'"),
    "connect, empty": (
        {"group_state": "Empty", "protocol_type": "connect", "protocol_data": ""}, "with the protocol type 'connect'. T"
    ),
    "connect, joining": (
        {"group_state": "PreparingRebalance", "protocol_type": "connect", "protocol_data": ""},
        "with the protocol type 'connect'. That",
    ),
    "joining, of no type": (
        {"group_state": "PreparingRebalance", "protocol_type": "", "protocol_data": ""}, "with the protocol type ''. T"
    ),
}  # fmt: skip


def asked(**fields: Any) -> Results[str, DescribeGroupsResponseGroup]:
    """What is found out about a group that brokers show like this. Those of 3.7 do not tell types."""
    answered = DescribeGroupsResponse(groups=(shown_group(**fields),))
    listed = ListGroupsResponse(groups=(ListedGroup(group_id="app", protocol_type="consumer"),))
    brokers = MetadataResponse(brokers=(MetadataResponseBroker(node_id=1, host="h", port=9),))
    answers = {ApiKey.DESCRIBE_GROUPS: answered, ApiKey.LIST_GROUPS: listed, ApiKey.METADATA: brokers}

    async def ask(question: Question[Any, Any]) -> Results[Any, Any]:
        return gathered(question.read(question.keys, answers[question.api]))

    return asyncio.run(shown_classic_groups(ask, ["app"]))


@pytest.mark.parametrize("case", REFUSED)
def test_other_groups_are_refused_with_their_protocol(case: str) -> None:
    fields, text = REFUSED[case]
    error = asked(**fields).errors["app"]
    assert type(error) is GroupIdNotFoundError
    assert text in str(error)


@pytest.mark.parametrize(("state", "kind"), [("Empty", "consumer"), ("Empty", ""), ("PreparingRebalance", "consumer")])
def test_a_group_that_has_no_protocol_now_may_be_of_any_consumers(state: str, kind: str) -> None:
    fields = {"group_state": state, "protocol_type": kind, "protocol_data": ""}
    assert asked(**fields).values == {"app": shown_group(**fields)}
