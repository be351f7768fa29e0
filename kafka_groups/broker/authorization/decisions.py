"""Decisions: may a principal perform an operation on a resource? The rules of Kafka's StandardAuthorizer. No I/O."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from attrs import frozen

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.bindings import ANY_USER, WILDCARD, AccessControlLists
from kafka_groups.broker.authorization.hosts import is_in_block, is_same_host

__all__ = ["AclDecisions"]

_A_TOPIC = "hardcode"
"""The name that Kafka asks about before it looks for any resource of a type."""

_IMPLIED_BY: Mapping[AclOperation, tuple[AclOperation, ...]] = MappingProxyType({
    AclOperation.DESCRIBE: (AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER),
    AclOperation.DESCRIBE_CONFIGS: (AclOperation.ALTER_CONFIGS,),
})  # fmt: skip
"""Operations that are allowed with another one. Nothing is denied with another one."""


@frozen(eq=False)
class AclDecisions:
    """Decides by the access control lists of one moment.

    Attributes:
        acls: The lists.
        super_users: Principals that may do everything (`super.users`).
        allows_without_acls: Whether everybody may do everything with a resource that no binding applies to
            (`allow.everyone.if.no.acl.found`).
        reads_blocks: Whether a host can be a block of addresses, as since Kafka 4.4.
    """

    acls: AccessControlLists
    super_users: frozenset[str] = frozenset()
    allows_without_acls: bool = False
    reads_blocks: bool = True

    def is_allowed(
        self, principal: str, host: str, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool:
        """Return whether a client may perform an operation on one resource.

        Args:
            principal: The client's user, such as `User:ann`.
            host: The client's address.
            operation: The operation.
            resource_type: Type of the resource.
            name: Name of the resource. It need not exist.
        """
        if principal in self.super_users:
            return True
        applying = tuple(self.acls.applying_to(resource_type, name))
        if not applying:
            return self.allows_without_acls
        own = [binding for binding in applying if self._is_about(binding, principal, host)]
        # One denial outweighs every permission, however general it is.
        if any(binding.permission is AclPermission.DENY and _names(binding, operation) for binding in own):
            return False
        return any(binding.permission is AclPermission.ALLOW and _gives(binding, operation) for binding in own)

    def is_allowed_on_any(
        self, principal: str, host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        """Return whether a client may perform an operation on at least one resource of a type (KIP-679)."""
        # Kafka asks about one name first, so that super users pass (Authorizer.authorizeByResourceType).
        if self.is_allowed(principal, host, operation, resource_type, _A_TOPIC):
            return True
        own = [
            binding
            for binding in self.acls
            if binding.resource_type is resource_type
            and _names(binding, operation)
            and self._is_about(binding, principal, host)
        ]
        return _is_some_allowed(own)

    def _is_about(self, binding: AclBinding, principal: str, host: str) -> bool:
        if binding.principal not in (principal, ANY_USER):
            return False
        return is_same_host(binding.host, host) or (self.reads_blocks and is_in_block(binding.host, host))


def _names(binding: AclBinding, operation: AclOperation) -> bool:
    return binding.operation in (operation, AclOperation.ALL)


def _gives(binding: AclBinding, operation: AclOperation) -> bool:
    return _names(binding, operation) or binding.operation in _IMPLIED_BY.get(operation, ())


def _is_some_allowed(bindings: Iterable[AclBinding]) -> bool:
    """Return whether a permission is left that no denial covers."""
    of = {permission: _names_of(bindings, permission) for permission in (AclPermission.ALLOW, AclPermission.DENY)}
    allowed, denied = of[AclPermission.ALLOW], of[AclPermission.DENY]
    everything = (AclPatternType.LITERAL, WILDCARD)
    if everything in denied:
        return False
    return everything in allowed or any(not _is_covered(kind, name, denied) for kind, name in allowed)


def _names_of(bindings: Iterable[AclBinding], permission: AclPermission) -> set[tuple[AclPatternType, str]]:
    return {(binding.pattern_type, binding.name) for binding in bindings if binding.permission is permission}


def _is_covered(kind: AclPatternType, name: str, denied: set[tuple[AclPatternType, str]]) -> bool:
    if kind is AclPatternType.LITERAL and (kind, name) in denied:
        return True
    return any((AclPatternType.PREFIXED, name[:end]) in denied for end in range(1, len(name) + 1))
