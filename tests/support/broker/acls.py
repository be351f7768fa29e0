"""Access control lists in a few words."""

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.bindings import AccessControlLists

__all__ = ["allow", "deny", "lists"]

TOPIC, LITERAL = AclResourceType.TOPIC, AclPatternType.LITERAL


def allow(
    operation: AclOperation,
    name: str = "orders",
    kind: AclPatternType = LITERAL,
    *,
    of: AclResourceType = TOPIC,
    who: str = "User:ann",
    host: str = "*",
) -> AclBinding:
    """A right on a resource."""
    return AclBinding(of, name, kind, who, host, operation, AclPermission.ALLOW)


def deny(
    operation: AclOperation,
    name: str = "orders",
    kind: AclPatternType = LITERAL,
    *,
    of: AclResourceType = TOPIC,
    who: str = "User:ann",
    host: str = "*",
) -> AclBinding:
    """A denial of a right on a resource."""
    return AclBinding(of, name, kind, who, host, operation, AclPermission.DENY)


def lists(*bindings: AclBinding) -> AccessControlLists:
    """The lists that have these bindings."""
    return AccessControlLists().with_changes(bindings)
