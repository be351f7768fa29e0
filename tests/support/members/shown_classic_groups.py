"""Classic groups of streams applications as DescribeGroups shows them, made by tests."""

from typing import Any, Final
from uuid import UUID

from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponseGroup, DescribeGroupsResponseMember
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo

__all__ = ["PROCESS", "assigned", "joined_with", "shown_group", "shown_member"]

PROCESS: Final = UUID(int=7)


def joined_with(info: SubscriptionInfo | bytes | None = None, **fields: Any) -> bytes:
    """The bytes of a subscription. By default, its user data is that of a process without tasks."""
    info = SubscriptionInfo(process_id=PROCESS) if info is None else info
    data = info if isinstance(info, bytes) else info.encode()
    return ConsumerProtocolSubscription(**{"topics": ("orders",), "user_data": data, **fields}).encode()


def assigned(info: AssignmentInfo | None = None, **partitions: tuple[int, ...]) -> bytes:
    """The bytes of an assignment. By default, nothing is assigned."""
    return ConsumerProtocolAssignment(partitions, (info or AssignmentInfo()).encode()).encode()


def shown_member(**fields: Any) -> DescribeGroupsResponseMember:
    """A member of a stable group."""
    values: dict[str, Any] = {
        "member_id": "m-1",
        "client_id": "app-1-StreamThread-1-consumer",
        "client_host": "/127.0.0.1",
        "member_metadata": joined_with(),
        "member_assignment": assigned(),
    }
    return DescribeGroupsResponseMember(**{**values, **fields})


def shown_group(*members: DescribeGroupsResponseMember, **fields: Any) -> DescribeGroupsResponseGroup:
    """A stable group of a streams application."""
    values: dict[str, Any] = {
        "group_id": "app",
        "group_state": "Stable",
        "protocol_type": "consumer",
        "protocol_data": "stream",
        "members": members,
    }
    return DescribeGroupsResponseGroup(**{**values, **fields})
