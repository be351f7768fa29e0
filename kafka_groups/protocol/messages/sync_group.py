"""SyncGroup (key 14), v0-v5: distributes the assignments of a classic group, which its leader has computed."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable


@frozen(kw_only=True)
class SyncGroupRequestAssignment:
    """The assignment of one member, encoded by the leader."""

    member_id: str
    assignment: bytes


@frozen(kw_only=True)
class SyncGroupRequest:
    """The leader sends the assignments of all members. Other members send none.

    From v5, the type and name of the protocol are required, and must be those of the group (KIP-559).
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None  # v3+
    protocol_type: str | None = ignorable(None)  # v5+
    protocol_name: str | None = ignorable(None)  # v5+
    assignments: tuple[SyncGroupRequestAssignment, ...] = ()


@frozen(kw_only=True)
class SyncGroupResponse:
    """The member's assignment, or no bytes if there is an error."""

    throttle_time_ms: int = 0  # v1+
    error_code: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None  # v5+
    protocol_name: str | None = None  # v5+
    assignment: bytes = b""
