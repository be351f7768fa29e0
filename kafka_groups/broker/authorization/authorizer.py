"""The authorizer of a cluster: decides by the access control lists as they are now, and remembers its decisions."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, Protocol

from attrs import frozen

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.bindings import AccessControlLists
from kafka_groups.broker.authorization.decisions import AclDecisions
from kafka_groups.broker.profile import Profile
from kafka_groups.config.cluster.broker import BrokerSettings

__all__ = ["MOST_DECISIONS", "AccessControlListsOwner", "Authorizer", "AuthorizerRules", "configured_authorizer"]

MOST_DECISIONS: Final = 10_000
"""The number of decisions that an authorizer remembers. Those that were used least recently go first."""

Decide = Callable[[str, str, AclOperation, AclResourceType, str | None], bool]


class AccessControlListsOwner(Protocol):
    """Has the current access control lists. `ClusterMetadata` implements this."""

    @property
    def acls(self) -> AccessControlLists:
        """The lists as they are now."""
        ...


@frozen(kw_only=True)
class AuthorizerRules:
    """The rules that do not change while a cluster runs.

    Attributes:
        super_users: Principals that may do everything (`super.users`).
        allows_without_acls: Whether everybody may do everything with a resource that no binding applies to
            (`allow.everyone.if.no.acl.found`).
        reads_blocks: Whether the host of a binding can be a block of addresses.
    """

    super_users: frozenset[str] = frozenset()
    allows_without_acls: bool = False
    reads_blocks: bool = True


class Authorizer:
    """Decides what clients may do. All brokers of a cluster share one.

    Args:
        owner: Has the access control lists.
        rules: The rules that do not change.
    """

    def __init__(self, owner: AccessControlListsOwner, rules: AuthorizerRules) -> None:
        self._owner = owner
        self.rules = rules
        self._acls = owner.acls
        self._decide = self._remembering()

    def __repr__(self) -> str:
        return f"<Authorizer with {len(self.rules.super_users)} super users>"

    def is_allowed(
        self, principal: str, host: str, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool:
        """Return whether a client may perform an operation on a resource, see `AclDecisions.is_allowed`."""
        return self._current()(principal, host, operation, resource_type, name)

    def allowed_names(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        names: Iterable[str],
    ) -> list[str]:
        """Return the names of the resources on which a client may perform an operation."""
        decide = self._current()
        return [name for name in names if decide(principal, host, operation, resource_type, name)]

    def is_allowed_on_any(
        self, principal: str, host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        """Return whether a client may perform an operation on some resource of a type."""
        return self._current()(principal, host, operation, resource_type, None)

    def _current(self) -> Decide:
        # A change of the lists counts for the next request, so what was decided before is dropped with them.
        acls = self._owner.acls
        if acls is not self._acls:
            self._acls = acls
            self._decide = self._remembering()
        return self._decide

    def _remembering(self) -> Decide:
        rules = self.rules
        decisions = AclDecisions(self._acls, rules.super_users, rules.allows_without_acls, rules.reads_blocks)

        @lru_cache(MOST_DECISIONS)
        def decide(
            principal: str, host: str, operation: AclOperation, resource_type: AclResourceType, name: str | None
        ) -> bool:
            if name is None:
                return decisions.is_allowed_on_any(principal, host, operation, resource_type)
            return decisions.is_allowed(principal, host, operation, resource_type, name)

        return decide


def configured_authorizer(
    owner: AccessControlListsOwner, settings: BrokerSettings, profile: Profile
) -> Authorizer | None:
    """Return the authorizer that brokers of a release with these settings have, or None if they have none."""
    if not settings.authorizer_class_name:
        return None
    rules = AuthorizerRules(
        super_users=frozenset(settings.super_users),
        allows_without_acls=settings.allow_everyone_if_no_acl_found,
        reads_blocks=profile.has_acl_address_blocks,
    )
    return Authorizer(owner, rules)
