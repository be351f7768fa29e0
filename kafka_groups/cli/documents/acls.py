"""The documents of `kafka-groups acls`."""

from attrs import frozen

__all__ = ["AclCheckEntry", "AclEntry"]


@frozen
class AclEntry:
    """An ACL.

    Attributes:
        principal: Who, such as `User:ann`.
        permission: `ALLOW` or `DENY`.
        operation: The operation, such as `READ`, or `ALL`.
        resource_type: `TOPIC`, `GROUP`, `TRANSACTIONAL_ID`, `CLUSTER`, `DELEGATION_TOKEN` or `USER`.
        resource: The name of the resource, or its prefix.
        pattern_type: `LITERAL` or `PREFIXED`.
        host: The host that the client connects from, or `*`.
    """

    principal: str
    permission: str
    operation: str
    resource_type: str
    resource: str
    pattern_type: str
    host: str


@frozen
class AclCheckEntry:
    """The answer to whether a user may do something.

    Attributes:
        principal: Who, such as `User:ann`.
        operation: The operation.
        resource_type: The type of the resource.
        resource: The name of the resource.
        host: The host that the client connects from.
        allowed: Whether the brokers allow it.
        reason: Why: the ACL that decides, or a setting of the brokers.
    """

    principal: str
    operation: str
    resource_type: str
    resource: str
    host: str
    allowed: bool
    reason: str
