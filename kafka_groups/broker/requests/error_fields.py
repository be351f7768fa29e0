"""The fields of a response that tell an error: the one place where an error class becomes a code."""

from typing import Final

from kafka_groups.errors import (
    BrokerError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["HIDDEN_TOPICS", "code_of", "message_of", "message_unless_refused"]

HIDDEN_TOPICS: Final = "The group has described topic(s) that the client is not authorized to describe."
"""The message for a group that is not described because of its topics, as Kafka has it."""

_REFUSALS = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)


def code_of(error: BrokerError | None) -> ErrorCode:
    """Return the code of an error, or NONE without an error."""
    return ErrorCode.NONE if error is None else ErrorCode(error.code)


def message_of(error: BrokerError | None) -> str | None:
    """Return the message of an error, or None without an error."""
    return None if error is None else str(error)


def message_unless_refused(error: BrokerError | None) -> str | None:
    """Return the message of an error, for the many APIs in which Kafka tells a client without rights the code alone."""
    return None if isinstance(error, _REFUSALS) else message_of(error)
