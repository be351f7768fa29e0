"""The members of a classic group of a streams application, as DescribeGroups shows them."""

import asyncio
from collections.abc import Mapping
from uuid import UUID

from attrs import frozen

from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponseMember
from kafka_groups.protocol.streams_user_data.assignment_info import decode_assignment
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo, decode_subscription
from kafka_groups.types import TaskId
from tests.support.requests.raw_client import RawClient

__all__ = ["DescribedMember", "described_members"]

_VERSION = 5  # which all releases have


@frozen
class DescribedMember:
    """A member of a stable group.

    Attributes:
        member_id: Its id.
        instance_id: Its group.instance.id.
        process_id: Its process.
        active: Its active tasks.
        standby: Its standby tasks.
        sums: What it told of the state of tasks when it joined.
        version: The version of its user data.
    """

    member_id: str
    instance_id: str | None
    process_id: UUID
    active: frozenset[TaskId]
    standby: frozenset[TaskId]
    sums: Mapping[TaskId, int]
    version: int


def described_members(servers: str, group_id: str) -> tuple[DescribedMember, ...]:
    """The members of a group at a single broker; none unless it is stable."""
    return asyncio.run(_described(servers, group_id))


async def _described(servers: str, group_id: str) -> tuple[DescribedMember, ...]:
    host, port = servers.rsplit(":", 1)
    async with RawClient(TcpNetwork(), host, int(port)) as client:
        response = await client.ask(DescribeGroupsRequest(groups=(group_id,)), _VERSION)
    [group] = response.groups
    if group.group_state != "Stable":
        return ()
    return tuple(_member(each) for each in sorted(group.members, key=lambda it: it.member_id))


def _member(each: DescribeGroupsResponseMember) -> DescribedMember:
    told = decode_subscription(ConsumerProtocolSubscription.decode(each.member_metadata).user_data)
    given = decode_assignment(ConsumerProtocolAssignment.decode(each.member_assignment).user_data)
    assert isinstance(told, SubscriptionInfo)
    standby = frozenset(task for task, _ in given.standby_tasks)
    return DescribedMember(
        each.member_id,
        each.group_instance_id,
        told.process_id,
        frozenset(given.active_tasks),
        standby,
        dict(told.task_offset_sums),
        told.version,
    )
