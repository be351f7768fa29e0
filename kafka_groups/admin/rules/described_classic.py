"""The question what classic groups are: state, members, assignments, lag (DescribeGroups)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from kafka_groups.admin.rules.consumer_offsets import with_lags
from kafka_groups.admin.rules.group_values import ClassicGroupDescription, ClassicGroupMember
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import GroupIdNotFoundError, MemberDataError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, subscribed_topics
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeGroupsResponseGroup,
    DescribeGroupsResponseMember,
)
from kafka_groups.types import TopicPartition

__all__ = ["describe_classic_groups"]

T = TypeVar("T")

_CONSUMERS: Final = "consumer"
_DEAD: Final = "Dead"


async def describe_classic_groups(ask: Asking, group_ids: Sequence[str]) -> Results[str, ClassicGroupDescription]:
    """Ask the coordinators for groups and members, and for the lag of the groups that exist."""
    what, api = "describe the group", ApiKey.DESCRIBE_GROUPS
    described = await ask(Question(what, api, tuple(group_ids), _request, _described, COORDINATORS))
    return await with_lags(ask, described)


def _request(keys: Sequence[str], _version: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=tuple(keys))


def _described(_keys: Sequence[str], response: DescribeGroupsResponse) -> Mapping[str, Answer[ClassicGroupDescription]]:
    return {group.group_id: _answer(group) for group in response.groups}


def _answer(group: DescribeGroupsResponseGroup) -> Answer[ClassicGroupDescription]:
    # Before version 6, this is the answer that there is no such group.
    if group.error_code is ErrorCode.NONE and group.group_state == _DEAD:
        return GroupIdNotFoundError(f"Group {group.group_id} not found.")
    message = group.error_message or f"{group.error_code.name}: group {group.group_id}"
    return told(group.error_code, message, _description_of(group))


def _description_of(group: DescribeGroupsResponseGroup) -> ClassicGroupDescription:
    # Other members, such as workers of Kafka Connect, have bytes of other formats.
    are_consumers = group.protocol_type == _CONSUMERS
    return ClassicGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        protocol_type=group.protocol_type,
        protocol=group.protocol_data,
        members=tuple(_member_of(member, are_consumers=are_consumers) for member in group.members),
    )


def _member_of(member: DescribeGroupsResponseMember, *, are_consumers: bool) -> ClassicGroupMember:
    has_subscription = are_consumers and bool(member.member_metadata)
    return ClassicGroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=_readable(subscribed_topics, member.member_metadata) if has_subscription else (),
        assignment=_readable(_assigned, member.member_assignment) if are_consumers else (),
    )


def _readable(read: Callable[[bytes], tuple[T, ...]], data: bytes) -> tuple[T, ...]:
    # The members write these bytes, and brokers do not look at them. What one client wrote must not hide the group.
    try:
        return read(data)
    except MemberDataError:
        return ()


def _assigned(data: bytes) -> tuple[TopicPartition, ...]:
    found = ConsumerProtocolAssignment.decode(data).assigned_partitions
    return tuple(TopicPartition(topic, number) for topic, numbers in found.items() for number in numbers)
