"""TODO list_groups (key 16), versions 0-5."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ListGroupsRequest:
    """TODO."""

    states_filter: tuple[str, ...] = ()  # v4+
    types_filter: tuple[str, ...] = ()  # v5+


@frozen(kw_only=True)
class ListedGroup:
    """TODO."""

    group_id: str
    protocol_type: str
    group_state: str = ""  # v4+
    group_type: str = ""  # v5+


@frozen(kw_only=True)
class ListGroupsResponse:
    """TODO."""

    throttle_time_ms: int = 0  # v1+
    error_code: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()
