"""JoinGroup (key 11), v0-v9: joins a classic group.

The response comes when all known members have joined, or when the rebalance timeout has passed.
"""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable

FIRST_WITH_MEMBER_ID_REQUIRED: Final = 4
"""Version from which a new member gets its id with MEMBER_ID_REQUIRED, and joins again with it (KIP-394)."""
FIRST_WITH_NULLABLE_PROTOCOL: Final = 7
"""Version from which `protocol_name` in a response may be None."""


@frozen(kw_only=True)
class JoinGroupRequestProtocol:
    """One protocol that the member supports: for a consumer, the name of an assignor and its encoded subscription."""

    name: str
    metadata: bytes


@frozen(kw_only=True)
class JoinGroupRequest:
    """The `member_id` is empty when a member joins for the first time. The protocols are in the order of preference.

    Version 0 lacks the rebalance timeout: the session timeout is used for both.
    """

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = ignorable(-1)  # v1+
    member_id: str = ""
    group_instance_id: str | None = None  # v5+
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...] = ()
    reason: str | None = ignorable(None)  # v8+


@frozen(kw_only=True)
class JoinGroupResponseMember:
    """One member, with its metadata for the protocol that was chosen."""

    member_id: str
    group_instance_id: str | None = None  # v5+
    metadata: bytes


@frozen(kw_only=True)
class JoinGroupResponse:
    """The new generation, or -1 if there is an error. Only the leader gets the members, and computes their assignments.

    With `skip_assignment`, the leader keeps the assignments that the group has (KIP-814). If there is an error, the
    protocol's name is empty, or None from v7.
    """

    throttle_time_ms: int = 0  # v2+
    error_code: ErrorCode = ErrorCode.NONE
    generation_id: int = -1
    protocol_type: str | None = None  # v7+
    protocol_name: str | None = ""  # None only from v7
    leader: str = ""
    skip_assignment: bool = False  # v9+
    member_id: str = ""
    members: tuple[JoinGroupResponseMember, ...] = ()
