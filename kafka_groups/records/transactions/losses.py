"""Lost transactions: what to tell of them, and when a producer that is fenced again and again has to end."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kafka_groups.errors import (
    AuthenticationError,
    BrokerError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidProducerEpochError,
    InvalidTransactionTimeoutError,
    KafkaGroupsError,
    ProducerFencedError,
    TransactionalIdAuthorizationFailedError,
    TransactionExpiredError,
    UnsupportedVersionError,
    error_for,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.transactions.answers import Answered

__all__ = ["TransactionLosses", "is_final"]

_MOST_FENCES: Final = 3
"""The times in a row that a producer may be fenced without a commit."""

_FINAL = (
    AuthenticationError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidTransactionTimeoutError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
)
_FENCED = (InvalidProducerEpochError, ProducerFencedError)

_PERMISSIONS: Mapping[ErrorCode, tuple[str, str]] = MappingProxyType({
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "write with a producer id",
        "the operation Write on the transactional id, or IdempotentWrite on the cluster",
    ),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (
        "commit offsets of the group {group!r}",
        "the operation Read on the group",
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "use the transactional id {id!r}",
        "the operations Write and Describe on the transactional id",
    ),
})  # fmt: skip
"""For each missing right: what is not allowed without it, and what to grant."""

_OF_TOPICS: Mapping[ApiKey, tuple[str, str]] = MappingProxyType({
    ApiKey.ADD_PARTITIONS_TO_TXN: ("write to {partition}", "the operation Write on the topic"),
    ApiKey.TXN_OFFSET_COMMIT: ("commit offsets of {partition}", "the operation Read on the topic"),
})  # fmt: skip


def is_final(error: KafkaGroupsError) -> bool:
    """Return whether no new producer id overcomes an error that a batch or a request failed with."""
    return isinstance(error, _FINAL)


class TransactionLosses:
    """Explains errors of one producer, and counts how often it was fenced.

    Args:
        transactional_id: The id.
        timeout_ms: When the coordinator aborts a transaction that does not end (`transaction.timeout.ms`).
        principal: Who is not allowed to do something, for messages.
    """

    def __init__(self, transactional_id: str, timeout_ms: int, principal: str) -> None:
        self._transactional_id = transactional_id
        self._principal = principal
        self._timeout_ms = timeout_ms
        self._fences = 0

    def committed(self) -> None:
        """Note a commit: a producer that commits has no rival."""
        self._fences = 0

    def explained(self, error: KafkaGroupsError, open_ms: int) -> KafkaGroupsError:
        """Return the error of a transaction that was open for this long: it may have been open for too long."""
        if error.retriable or open_ms <= self._timeout_ms:
            return error
        expired = TransactionExpiredError(
            f"It was open for {open_ms} ms, and the coordinator aborts it after transaction.timeout.ms, which is "
            f"{self._timeout_ms}: {error}"
        )
        expired.__cause__ = error
        return expired

    def fenced_too_often(self, error: KafkaGroupsError) -> KafkaGroupsError | None:
        """Count an error, and return the one to end with if the producer was fenced too often."""
        self._fences += isinstance(error, _FENCED)
        if self._fences < _MOST_FENCES:
            return None
        final = ProducerFencedError(
            f"The transactional id {self._transactional_id!r} was fenced {self._fences} times in a row without a "
            "commit in between. Another process may have the same process-id, for example in a copied state_dir: give "
            "each process a state_dir of its own. Or transactions take longer than transaction.timeout.ms, which is "
            f"{self._timeout_ms}: raise it, or commit more often."
        )
        final.__cause__ = error
        return final

    def refusal(self, api: ApiKey, answered: Answered, group_id: str | None) -> BrokerError:
        """Return the error for an answer that refuses something, with the remedy if there is one."""
        code = answered.code
        if code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            return error_for(
                code,
                f"The brokers do not allow transactions of up to {self._timeout_ms} ms. Set transaction.timeout.ms of "
                "the producer to what their transaction.max.timeout.ms allows, or raise that.",
            )
        permission = _OF_TOPICS.get(api) if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED else _PERMISSIONS.get(code)
        if permission is not None:
            what = permission[0].format(id=self._transactional_id, group=group_id, partition=answered.partition)
            return error_for(code, f"{self._principal} may not {what}. Grant {permission[1]}.")
        where = "" if answered.partition is None else f" for {answered.partition}"
        return error_for(code, f"{api.name}: {code.name}{where} (transactional id {self._transactional_id})")
