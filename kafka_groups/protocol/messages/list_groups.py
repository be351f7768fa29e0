"""ListGroups (key 16), v0-v5: lists the groups that a broker coordinates."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ListGroupsRequest:
    """Names of states (KIP-518) and types (KIP-848). Case is ignored. Empty means all."""

    states_filter: tuple[str, ...] = ()  # v4+
    types_filter: tuple[str, ...] = ()  # v5+


@frozen(kw_only=True)
class ListedGroup:
    """One group. For a share group, `protocol_type` is `share` and the type is `Share`."""

    group_id: str
    protocol_type: str
    group_state: str = ""  # v4+
    group_type: str = ""  # v5+


@frozen(kw_only=True)
class ListGroupsResponse:
    """Groups of this broker only. For a full list, ask every broker."""

    throttle_time_ms: int = 0  # v1+
    error_code: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()
