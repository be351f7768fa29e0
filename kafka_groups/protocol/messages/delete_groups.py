"""DeleteGroups (key 42), v0-v3: deletes empty groups of any type."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteGroupsRequest:
    """Ids of groups that share a coordinator."""

    groups_names: tuple[str, ...] = ()


@frozen(kw_only=True)
class DeletableGroupResult:
    """The result for one group: NON_EMPTY_GROUP if it has members."""

    group_id: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None  # v3+


@frozen(kw_only=True)
class DeleteGroupsResponse:
    """One result for each group of the request."""

    throttle_time_ms: int = 0
    results: tuple[DeletableGroupResult, ...] = ()
