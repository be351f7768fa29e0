"""DescribeAcls (key 29), v1-v3: lists ACLs. The numbers are those of the enums in `kafka_groups.acls`."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DescribeAclsRequest:
    """A filter: None in a text and ANY in a number match every ACL."""

    resource_type_filter: int
    resource_name_filter: str | None = None
    pattern_type_filter: int
    principal_filter: str | None = None
    host_filter: str | None = None
    operation: int
    permission_type: int


@frozen(kw_only=True)
class AclDescription:
    """An ACL of a resource."""

    principal: str
    host: str
    operation: int
    permission_type: int


@frozen(kw_only=True)
class DescribeAclsResource:
    """The ACLs with one pattern that match the filter."""

    resource_type: int
    resource_name: str
    pattern_type: int
    acls: tuple[AclDescription, ...] = ()


@frozen(kw_only=True)
class DescribeAclsResponse:
    """Without ACLs that match, the list is empty and there is no error."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    resources: tuple[DescribeAclsResource, ...] = ()
