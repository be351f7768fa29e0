"""Lost transactions: what to tell of them, and when a producer that is fenced again and again has to end."""

from typing import Final

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.client.rights import RESOURCE_TYPES, refused
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
from kafka_groups.records.producing.refusal_texts import without_id
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


def is_final(error: KafkaGroupsError) -> bool:
    """Return whether no new producer id overcomes an error that a batch or a request failed with."""
    return isinstance(error, _FINAL)


class TransactionLosses:
    """Explains errors of one producer, and counts how often it was fenced.

    Args:
        transactional_id: The id.
        timeout_ms: When the coordinator aborts a transaction that does not end (`transaction.timeout.ms`).
        principal: Who is not allowed to do something, for messages; None if it is not known here.
    """

    def __init__(self, transactional_id: str, timeout_ms: int, principal: str | None) -> None:
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
        if code in RESOURCE_TYPES:
            return self._denied(api, answered, group_id)
        where = "" if answered.partition is None else f" for {answered.partition}"
        return error_for(code, f"{api.name}: {code.name}{where} (transactional id {self._transactional_id})")

    def _denied(self, api: ApiKey, answered: Answered, group_id: str | None) -> BrokerError:
        code = answered.code
        if code is ErrorCode.GROUP_AUTHORIZATION_FAILED and group_id is not None:
            return refused(api, code, (group_id,), self._principal, AclOperation.READ)
        if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED and answered.partition is not None:
            return refused(api, code, (answered.partition.topic,), self._principal)
        # Whoever may write with the id may have a producer id, too.
        return without_id(code, (self._transactional_id,), self._principal, AclResourceType.TRANSACTIONAL_ID)
