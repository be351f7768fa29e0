"""TODO delete_groups (key 42), versions 0-2."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteGroupsRequest:
    """TODO."""

    groups_names: tuple[str, ...] = ()


@frozen(kw_only=True)
class DeletableGroupResult:
    """TODO."""

    group_id: str
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class DeleteGroupsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    results: tuple[DeletableGroupResult, ...] = ()
