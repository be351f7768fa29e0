"""DescribeGroups (key 15), v0-v6: returns state and members of classic groups."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED

FIRST_WITH_GROUP_ID_NOT_FOUND: Final = 6
"""Version from which an unknown group gets GROUP_ID_NOT_FOUND (KIP-1043). Before, it is Dead, without an error."""


@frozen(kw_only=True)
class DescribeGroupsRequest:
    """Ids of groups that share a coordinator."""

    groups: tuple[str, ...] = ()
    include_authorized_operations: bool = False  # v3+


@frozen(kw_only=True)
class DescribeGroupsResponseMember:
    """One member, with its metadata and its assignment, as encoded by the members.

    The metadata is for the protocol that was chosen, and empty unless the group is Stable.
    """

    member_id: str
    group_instance_id: str | None = None  # v4+
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@frozen(kw_only=True)
class DescribeGroupsResponseGroup:
    """One group. Its state is PreparingRebalance, CompletingRebalance, Stable, Empty or Dead.

    `protocol_data` is the name of the protocol that was chosen, and empty unless the group is Stable.
    """

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None  # v6+
    group_id: str
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribeGroupsResponseMember, ...] = ()
    authorized_operations: int = NOT_ASKED  # v3+


@frozen(kw_only=True)
class DescribeGroupsResponse:
    """One result for each group of the request."""

    throttle_time_ms: int = 0  # v1+
    groups: tuple[DescribeGroupsResponseGroup, ...] = ()
