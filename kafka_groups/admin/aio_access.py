"""The methods of the asynchronous admin client for ACLs and users."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

from kafka_groups.acls import AclBinding, AclFilter
from kafka_groups.admin.rules.acl_arguments import checked_acl_filter, checked_acl_filters, checked_bindings
from kafka_groups.admin.rules.acl_questions import create_acls, delete_acls, describe_acls
from kafka_groups.admin.rules.arguments import checked_names
from kafka_groups.admin.rules.user_arguments import checked_user_changes
from kafka_groups.admin.rules.user_questions import alter_users, describe_all_users, describe_users
from kafka_groups.admin.rules.user_values import (
    UserDescription,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results

__all__ = ["AsyncAccessCalls"]

_SALT_BYTES: Final = 24


class AsyncAccessCalls(ABC):
    """The methods of `AsyncKafkaAdmin` about ACLs and users."""

    @abstractmethod
    def _within(self, timeout_s: float | None) -> Asking:
        """Return a function that asks questions, all of them together for at most this long."""

    async def describe_acls(
        self, wanted: AclFilter | None = None, *, timeout: float | None = None
    ) -> tuple[AclBinding, ...]:
        """Describe ACLs (KIP-4, KIP-290).

        Args:
            wanted: Which ones; None for all.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The ACLs, sorted.

        Raises:
            ConfigurationError: A value of the filter is invalid.
            SecurityDisabledError: The cluster has no authorizer.
            ClusterAuthorizationFailedError: You may not describe the cluster.
            OperationTimeoutError: No broker answered in time.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await describe_acls(
            self._within(timeout), checked_acl_filter(AclFilter() if wanted is None else wanted, "wanted")
        )

    async def create_acls(
        self, bindings: Iterable[AclBinding], *, timeout: float | None = None
    ) -> Results[AclBinding, None]:
        """Create ACLs. They reach the brokers within moments, not before this returns. One that exists stays.

        Args:
            bindings: The ACLs.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each ACL: `InvalidRequestError` if brokers do not accept it,
            `SecurityDisabledError` if the cluster has no authorizer, `ClusterAuthorizationFailedError`.

        Raises:
            ConfigurationError: A value is for filters only, or a text is empty.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await create_acls(self._within(timeout), checked_bindings(bindings))

    async def delete_acls(
        self, filters: Iterable[AclFilter], *, timeout: float | None = None
    ) -> Results[AclFilter, Results[AclBinding, None]]:
        """Delete all ACLs that filters choose. `describe_acls` shows which these are.

        Args:
            filters: The filters. `AclFilter()` chooses every ACL of the cluster.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each filter an error, such as `SecurityDisabledError` or `ClusterAuthorizationFailedError`; or None or
            an error for each ACL that it chose.

        Raises:
            ConfigurationError: A value of a filter is invalid.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await delete_acls(self._within(timeout), checked_acl_filters(filters))

    async def describe_users(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Results[str, UserDescription]:
        """Describe users with SCRAM credentials: mechanisms and iterations (KIP-554). Kafka 2.7 and later.

        Args:
            users: The users; None for all who have credentials.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            A description or an error for each user: `ResourceNotFoundError` without credentials,
            `ClusterAuthorizationFailedError`.

        Raises:
            ClusterAuthorizationFailedError: You asked for all users, and may not describe the cluster.
            OperationTimeoutError: The same on a real Kafka, which does not answer then.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        if users is None:
            return await describe_all_users(self._within(timeout))
        return await describe_users(self._within(timeout), checked_names(users, "users"))

    async def alter_users(
        self,
        changes: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        timeout: float | None = None,
    ) -> Results[str, None]:
        """Set and remove passwords of users for SCRAM (KIP-554). Kafka 2.7 and later.

        They reach the brokers within moments, not before this returns. Clients that are logged in stay so. Several
        changes of one user are made one after the other, until one fails.

        Args:
            changes: The changes, at most one for each user and mechanism.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each user: `ResourceNotFoundError` if there is no password to remove,
            `ClusterAuthorizationFailedError`.

        Raises:
            ConfigurationError: A value is invalid.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        checked = checked_user_changes(changes)
        return await alter_users(self._within(timeout), checked, lambda: secrets.token_bytes(_SALT_BYTES))
