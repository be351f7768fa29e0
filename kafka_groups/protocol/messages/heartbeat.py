"""Heartbeat (key 12), v0-v4: keeps a member in a classic group."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class HeartbeatRequest:
    """A member, and the generation that it is in. A static member also sends its instance id (KIP-345)."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None  # v3+


@frozen(kw_only=True)
class HeartbeatResponse:
    """REBALANCE_IN_PROGRESS tells the member to join again."""

    throttle_time_ms: int = 0  # v1+
    error_code: ErrorCode = ErrorCode.NONE
