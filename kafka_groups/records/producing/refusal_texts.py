"""The errors of Produce as errors of the package, which say what to do."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from kafka_groups.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    KafkaGroupsError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    error_for,
)
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import PartitionProduceResponse
from kafka_groups.types import TopicPartition

__all__ = ["not_writable", "refusal_of", "text_of_answer", "too_large", "unnamed", "with_remedy"]

E = TypeVar("E", bound=KafkaGroupsError)

_PERMISSIONS: Mapping[ErrorCode, str] = MappingProxyType({
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "the operation Write on the topic",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the operation IdempotentWrite on the cluster",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "the operation Write on the transactional id",
})  # fmt: skip


def text_of_answer(told: PartitionProduceResponse) -> str:
    """Return the name of the error, with the broker's explanation if there is one."""
    return f"{told.error_code.name}: {told.error_message}" if told.error_message else told.error_code.name


def refusal_of(told: PartitionProduceResponse, name: TopicPartition, principal: str) -> KafkaGroupsError:
    """Return the error for records that were not written.

    Args:
        told: The broker's answer.
        name: The partition.
        principal: Who wrote, for errors of permissions.
    """
    permission = _PERMISSIONS.get(told.error_code)
    if permission is not None:
        return with_remedy(error_for(told.error_code, f"{principal} may not write to {name}. Grant {permission}."))
    return error_for(told.error_code, sentences(f"{name}: {text_of_answer(told)}"))


def not_writable(topic: str, principal: str) -> TopicAuthorizationFailedError:
    """Return the error for a topic that somebody may not even describe, which says what to grant."""
    permission = _PERMISSIONS[ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    return with_remedy(TopicAuthorizationFailedError(f"{principal} may not write to {topic}. Grant {permission}."))


def unnamed(error: KafkaGroupsError, count: int) -> KafkaGroupsError:
    """Return the error for a batch of so many records, if a broker that refuses single records does not name them."""
    if count == 1 or not isinstance(error, InvalidRecordError | InvalidTimestampError):
        return error
    text = f"It is one of {counted(count, 'record')} of a batch, and the broker does not say which of them is wrong"
    return type(error)(sentences(str(error), text))


def with_remedy(error: E) -> E:
    """Return an error, marked as one that says what to do."""
    error.says_remedy = True
    return error


def too_large(text: str, *, limits_records: bool = True) -> MessageTooLargeError:
    """Return the error for a record that is too large, which says which keys allow larger ones.

    Args:
        text: What happened, as a sentence without its full stop.
        limits_records: Whether the producer has a limit of its own.
    """
    own = ", and max.request.size of the producer" if limits_records else ""
    remedy = f"Make records smaller, or allow larger ones: max.message.bytes of the topic{own}"
    return with_remedy(MessageTooLargeError(sentences(text, remedy)))
