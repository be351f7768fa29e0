"""The fields of a response that tell an error: the one place where an error class becomes a code."""

from kafka_groups.errors import BrokerError
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["code_of", "message_of"]


def code_of(error: BrokerError | None) -> ErrorCode:
    """Return the code of an error, or NONE without an error."""
    return ErrorCode.NONE if error is None else ErrorCode(error.code)


def message_of(error: BrokerError | None) -> str | None:
    """Return the message of an error, or None without an error."""
    return None if error is None else str(error)
