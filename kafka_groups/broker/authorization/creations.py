"""The checks of ACLs that a client wants to create. No I/O."""

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.bindings import CLUSTER_NAME
from kafka_groups.broker.authorization.hosts import check_host
from kafka_groups.errors import InvalidRequestError

__all__ = ["check_creation"]

_UNUSABLE_TYPES = (AclResourceType.UNKNOWN, AclResourceType.ANY)
_UNUSABLE_OPERATIONS = (AclOperation.UNKNOWN, AclOperation.ANY)
_PATTERN_TYPES = (AclPatternType.LITERAL, AclPatternType.PREFIXED)
_PERMISSIONS = (AclPermission.ALLOW, AclPermission.DENY)


def check_creation(binding: AclBinding, *, reads_blocks: bool) -> None:
    """Check an ACL as Kafka does.

    Operations that do not exist for a type are accepted, and so are names that no resource can have.

    Args:
        binding: The ACL.
        reads_blocks: Whether hosts can be blocks of addresses. If not, they may be any text.

    Raises:
        InvalidRequestError: A value is for filters only or unknown, a name or host is empty, the principal has no type,
            the host is not a block of addresses, or the cluster has another name. The text is Kafka's.
    """
    # The order matters if several are wrong (AclApis.handleCreateAcls, then AclControlManager.validateNewAcl in Kafka).
    _check_name(binding)
    _check_enums(binding)
    if ":" not in binding.principal:
        raise InvalidRequestError(
            f"Could not parse principal from `{binding.principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    if reads_blocks:
        _check_host(binding.host)


def _check_name(binding: AclBinding) -> None:
    if binding.resource_type is AclResourceType.CLUSTER and binding.name != CLUSTER_NAME:
        raise InvalidRequestError(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not binding.name:
        raise InvalidRequestError("Invalid empty resource name")


def _check_enums(binding: AclBinding) -> None:
    if binding.resource_type in _UNUSABLE_TYPES:
        raise InvalidRequestError(f"Invalid resourceType {binding.resource_type}")
    if binding.pattern_type not in _PATTERN_TYPES:
        raise InvalidRequestError(f"Invalid patternType {binding.pattern_type}")
    if binding.operation in _UNUSABLE_OPERATIONS:
        raise InvalidRequestError(f"Invalid operation {binding.operation}")
    if binding.permission not in _PERMISSIONS:
        raise InvalidRequestError(f"Invalid permissionType {binding.permission}")


def _check_host(host: str) -> None:
    try:
        check_host(host)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from None
