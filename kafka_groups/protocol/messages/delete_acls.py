"""DeleteAcls (key 31), v1-v3: deletes ACLs. The numbers are those of the enums in `kafka_groups.acls`."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteAclsFilter:
    """A filter: None in a text and ANY in a number match every ACL."""

    resource_type_filter: int
    resource_name_filter: str | None = None
    pattern_type_filter: int
    principal_filter: str | None = None
    host_filter: str | None = None
    operation: int
    permission_type: int


@frozen(kw_only=True)
class DeleteAclsRequest:
    """ACLs that match one of the filters are deleted."""

    filters: tuple[DeleteAclsFilter, ...] = ()


@frozen(kw_only=True)
class DeleteAclsMatchingAcl:
    """An ACL that matched, and whether it was deleted."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@frozen(kw_only=True)
class DeleteAclsFilterResult:
    """The result for one filter."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    matching_acls: tuple[DeleteAclsMatchingAcl, ...] = ()


@frozen(kw_only=True)
class DeleteAclsResponse:
    """One result for each filter, in the order of the request."""

    throttle_time_ms: int = 0
    filter_results: tuple[DeleteAclsFilterResult, ...] = ()
