"""TODO find_coordinator (key 10), versions 0-6."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class FindCoordinatorRequest:
    """TODO."""

    key_type: int = 0  # v1+
    coordinator_keys: tuple[str, ...] = ()  # v4+
    key: str = ""  # v0-v3


@frozen(kw_only=True)
class Coordinator:
    """TODO."""

    key: str
    node_id: int
    host: str
    port: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class FindCoordinatorResponse:
    """TODO."""

    throttle_time_ms: int = 0  # v1+
    coordinators: tuple[Coordinator, ...] = ()  # v4+
    error_code: ErrorCode = ErrorCode.NONE  # v0-v3
    error_message: str | None = None  # v1-v3
    node_id: int = 0  # v0-v3
    host: str = ""  # v0-v3
    port: int = 0  # v0-v3
