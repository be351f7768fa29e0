"""LeaveGroup (key 13), v0-v5: removes members from a classic or consumer group."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable

FIRST_WITH_MANY_MEMBERS: Final = 3
"""Version from which a request can contain several members (KIP-345)."""


@frozen(kw_only=True)
class LeaveGroupRequestMember:
    """One member. An administrator may remove a static member by its instance id, with an empty `member_id`."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = ignorable(None)  # v5+


@frozen(kw_only=True)
class LeaveGroupRequest:
    """`members` from v3 (KIP-345), one `member_id` before."""

    group_id: str
    member_id: str = ""  # v0-v2
    members: tuple[LeaveGroupRequestMember, ...] = ()  # v3+


@frozen(kw_only=True)
class LeaveGroupResponseMember:
    """The result for one member of the request."""

    member_id: str
    group_instance_id: str | None = None
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class LeaveGroupResponse:
    """The error applies to the group. Before v3, it is also that of the only member."""

    throttle_time_ms: int = 0  # v1+
    error_code: ErrorCode = ErrorCode.NONE
    members: tuple[LeaveGroupResponseMember, ...] = ()  # v3+
