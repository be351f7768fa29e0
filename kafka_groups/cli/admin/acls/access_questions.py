"""Decisions about questions to ACLs, and what decides: by the brokers' own rules."""

from collections.abc import Sequence
from typing import Final

from attrs import evolve, frozen

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.bindings import AccessControlLists
from kafka_groups.broker.authorization.decisions import AclDecisions
from kafka_groups.cli.acl_options import ANY_HOST
from kafka_groups.cli.documents.acls import AclCheckEntry

__all__ = ["SUPER_USERS", "WITHOUT_ACLS", "AccessQuestion", "AuthorizerSettings"]

SUPER_USERS: Final = "super.users"
WITHOUT_ACLS: Final = "allow.everyone.if.no.acl.found"


@frozen
class AuthorizerSettings:
    """Settings of the authorizer, as far as the brokers show them."""

    super_users: frozenset[str]
    allows_without_acls: bool
    notes: Sequence[str] = ()


@frozen
class AccessQuestion:
    """A question to the rules of decisions."""

    user: str
    host: str
    operation: AclOperation
    resource_type: AclResourceType
    name: str

    def answer(self, settings: AuthorizerSettings, acls: Sequence[AclBinding]) -> AclCheckEntry:
        """Return the answer, with the ACL or the setting that decides."""
        allowed = self._is_allowed(acls, settings)
        reason = self._reason(settings, acls, allowed=allowed)
        return AclCheckEntry(
            self.user, self.operation.name, self.resource_type.name, self.name, self.host, allowed, reason
        )

    def _is_allowed(self, acls: Sequence[AclBinding], settings: AuthorizerSettings) -> bool:
        lists = AccessControlLists().with_changes(acls)
        decisions = AclDecisions(lists, settings.super_users, settings.allows_without_acls)
        return decisions.is_allowed(self.user, self.host, self.operation, self.resource_type, self.name)

    def _reason(self, settings: AuthorizerSettings, acls: Sequence[AclBinding], *, allowed: bool) -> str:
        if self.user in settings.super_users:
            return f"{self.user} is one of {SUPER_USERS}"
        if not acls:
            return f"{WITHOUT_ACLS}=true, and no ACL is about it" if allowed else "no ACL is about it"
        alone = AuthorizerSettings(frozenset(), allows_without_acls=False)
        for binding in acls:
            if allowed and self._is_allowed([binding], alone):
                return _shown(binding)
            if not allowed and self._denies(binding, alone):
                return _shown(binding)
        return "no ACL allows it"

    def _denies(self, binding: AclBinding, settings: AuthorizerSettings) -> bool:
        """Return whether an ACL denies what everything else would allow."""
        if binding.permission is not AclPermission.DENY:
            return False
        all_of_it = evolve(
            binding, permission=AclPermission.ALLOW, operation=AclOperation.ALL, principal=self.user, host=ANY_HOST
        )
        return not self._is_allowed([binding, all_of_it], settings)


def _shown(acl: AclBinding) -> str:
    host = "" if acl.host == ANY_HOST else f" from {acl.host}"
    pattern = " names that begin with" if acl.pattern_type is AclPatternType.PREFIXED else ""
    return f"{acl.permission.name} {acl.operation.name} to {acl.principal}{host} on{pattern} {acl.name}"
