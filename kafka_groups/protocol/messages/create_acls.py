"""CreateAcls (key 30), v1-v3: creates ACLs. The numbers are those of the enums in `kafka_groups.acls`."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class AclCreation:
    """An ACL to create."""

    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@frozen(kw_only=True)
class CreateAclsRequest:
    """Each ACL is created by itself: an invalid one does not keep the others from being created."""

    creations: tuple[AclCreation, ...] = ()


@frozen(kw_only=True)
class AclCreationResult:
    """The result for one ACL."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class CreateAclsResponse:
    """One result for each ACL, in the order of the request."""

    throttle_time_ms: int = 0
    results: tuple[AclCreationResult, ...] = ()
