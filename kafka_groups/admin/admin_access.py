"""The methods of the blocking admin client for ACLs and users; generated from `aio_access.py`.

Edit that module and run `python -m tests.generating.facades`; do not edit this one.
"""

from collections.abc import Iterable

from kafka_groups.acls import AclBinding, AclFilter
from kafka_groups.admin.admin_groups import GroupCalls
from kafka_groups.admin.rules.user_values import (
    UserDescription,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka_groups.client.calls.results import Results

__all__ = ["AccessCalls"]


class AccessCalls(GroupCalls):
    """The methods of `KafkaAdmin` about ACLs and users."""

    def describe_acls(self, wanted: AclFilter | None = None, *, timeout: float | None = None) -> tuple[AclBinding, ...]:
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
        return self._run(self._admin.describe_acls(wanted, timeout=timeout))

    def create_acls(self, bindings: Iterable[AclBinding], *, timeout: float | None = None) -> Results[AclBinding, None]:
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
        return self._run(self._admin.create_acls(bindings, timeout=timeout))

    def delete_acls(
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
        return self._run(self._admin.delete_acls(filters, timeout=timeout))

    def describe_users(
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
        return self._run(self._admin.describe_users(users, timeout=timeout))

    def alter_users(
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
        return self._run(self._admin.alter_users(changes, timeout=timeout))
