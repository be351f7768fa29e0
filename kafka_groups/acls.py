"""ACLs as values: who may do what to which resource. Clients send them, brokers decide with them."""

import enum
from typing import Self, TypeVar

from attrs import field, frozen

from kafka_groups.errors import ConfigurationError

__all__ = ["AclBinding", "AclFilter", "AclOperation", "AclPatternType", "AclPermission", "AclResourceType"]

E = TypeVar("E", bound="_AclEnum")


class _AclEnum(enum.IntEnum):
    """The part that the enums of ACLs share: a number on the wire, and a name that people read and write."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    @classmethod
    def of_number(cls, number: int) -> Self:
        """Return the member with a number of the protocol; `UNKNOWN` if a newer peer has more of them than we do."""
        return next((each for each in cls if each == number), cls["UNKNOWN"])


class AclResourceType(_AclEnum):
    """The types of resources that ACLs protect. A cluster is always called `kafka-cluster`."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class AclPatternType(_AclEnum):
    """The ways in which an ACL names resources; `ANY` and `MATCH` are for filters only (KIP-290).

    `LITERAL` is one resource, or all of the type if the name is `*`. `PREFIXED` are those whose names begin so. `MATCH`
    finds all ACLs that hold for a resource: of the same name, of `*`, and of prefixes of it.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_AclEnum):
    """The operations that ACLs allow or deny. `ANY` is for filters only; `ALL` is an operation of ACLs."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(_AclEnum):
    """The effect of an ACL. `ANY` is for filters only."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


def _member(enum_class: type[E], value: object, name: str) -> E:
    """Return a member that was given as such or by its name, in any case and with hyphens or underscores."""
    if isinstance(value, enum_class):
        return value
    if isinstance(value, str) and (written := value.upper().replace("-", "_")) in enum_class.__members__:
        return enum_class[written]
    allowed = ", ".join(each.name for each in enum_class if each.name != "UNKNOWN")
    raise ConfigurationError(f"{name}={value!r}: use one of {allowed}")


def _resource_type(value: AclResourceType | str) -> AclResourceType:
    return _member(AclResourceType, value, "resource_type")


def _pattern_type(value: AclPatternType | str) -> AclPatternType:
    return _member(AclPatternType, value, "pattern_type")


def _operation(value: AclOperation | str) -> AclOperation:
    return _member(AclOperation, value, "operation")


def _permission(value: AclPermission | str) -> AclPermission:
    return _member(AclPermission, value, "permission")


def _any_resource_type(value: AclResourceType | str | None) -> AclResourceType | None:
    return None if value is None else _none_for_any(_resource_type(value))


def _any_pattern_type(value: AclPatternType | str | None) -> AclPatternType | None:
    return None if value is None else _none_for_any(_pattern_type(value))


def _any_operation(value: AclOperation | str | None) -> AclOperation | None:
    return None if value is None else _none_for_any(_operation(value))


def _any_permission(value: AclPermission | str | None) -> AclPermission | None:
    return None if value is None else _none_for_any(_permission(value))


def _none_for_any(member: E) -> E | None:
    return None if member.name == "ANY" else member


@frozen(order=True)
class AclBinding:
    """An ACL: it allows or denies one operation on resources to a principal.

    The four enums may be given as text, in any case, such as `topic` or `alter-configs`.

    Attributes:
        resource_type: The type of the resources.
        name: The name of the resource, or its prefix. `*` with the pattern type `LITERAL` is every resource.
        pattern_type: `LITERAL` or `PREFIXED`.
        principal: Who: a type, a colon and a name, such as `User:ann`; `User:*` is everybody.
        host: The address that the client connects from; `*` is any. Kafka 4.4 takes blocks, such as `10.0.0.0/8`.
        operation: The operation; `ALL` is each one.
        permission: `ALLOW` or `DENY`. An ACL that denies wins.

    Raises:
        ConfigurationError: An enum has no member of that name.
    """

    resource_type: AclResourceType = field(converter=_resource_type)
    name: str
    pattern_type: AclPatternType = field(converter=_pattern_type)
    principal: str
    host: str
    operation: AclOperation = field(converter=_operation)
    permission: AclPermission = field(converter=_permission)


@frozen
class AclFilter:
    """A choice of ACLs. A field that is None, or `ANY`, which becomes None, matches every value.

    Principals, hosts and operations are compared as they are written: `User:ann` does not find ACLs of `User:*`, and
    `DESCRIBE` does not find `READ`, which implies it.

    Attributes:
        resource_type: The type of the resources.
        name: The name of the resource, or its prefix.
        pattern_type: `LITERAL`, `PREFIXED`, or `MATCH` for all ACLs that hold for a resource with this name.
        principal: Who, such as `User:ann`.
        host: The host, as the ACL has it.
        operation: The operation, as the ACL has it.
        permission: `ALLOW` or `DENY`.

    Raises:
        ConfigurationError: An enum has no member of that name.
    """

    resource_type: AclResourceType | None = field(default=None, converter=_any_resource_type)
    name: str | None = None
    pattern_type: AclPatternType | None = field(default=None, converter=_any_pattern_type)
    principal: str | None = None
    host: str | None = None
    operation: AclOperation | None = field(default=None, converter=_any_operation)
    permission: AclPermission | None = field(default=None, converter=_any_permission)
