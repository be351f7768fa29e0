"""The errors of Produce as errors of the package, which say what to do."""

from collections.abc import Iterable
from typing import TypeVar

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.client.rights import NeededRight, missing_rights, refused
from kafka_groups.errors import (
    BrokerError,
    InvalidRecordError,
    InvalidTimestampError,
    KafkaGroupsError,
    MessageTooLargeError,
    error_for,
)
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import PartitionProduceResponse
from kafka_groups.types import TopicPartition

__all__ = ["not_writable", "refusal_of", "text_of_answer", "too_large", "unnamed", "with_remedy", "without_id"]

E = TypeVar("E", bound=KafkaGroupsError)


def text_of_answer(told: PartitionProduceResponse) -> str:
    """Return the name of the error, with the broker's explanation if there is one."""
    return f"{told.error_code.name}: {told.error_message}" if told.error_message else told.error_code.name


def refusal_of(
    told: PartitionProduceResponse, name: TopicPartition, principal: str | None, transactional_id: str | None = None
) -> KafkaGroupsError:
    """Return the error for records that were not written.

    Args:
        told: The broker's answer.
        name: The partition.
        principal: Who wrote, for errors of permissions; None if it is not known here.
        transactional_id: The id of the producer, if it has one.
    """
    if told.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return not_writable(name.topic, principal)
    if told.error_code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return without_id(told.error_code, (name.topic,), principal)
    if told.error_code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        ids = () if transactional_id is None else (transactional_id,)
        return without_id(told.error_code, ids, principal, AclResourceType.TRANSACTIONAL_ID)
    return error_for(told.error_code, sentences(f"{name}: {text_of_answer(told)}"))


def not_writable(topic: str, principal: str | None) -> BrokerError:
    """Return the error for a topic that somebody may not even describe, which says what to grant."""
    return refused(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, (topic,), principal)


def without_id(
    code: ErrorCode, names: Iterable[str], principal: str | None, resource_type: AclResourceType = AclResourceType.TOPIC
) -> BrokerError:
    """Return the error of a producer that gets no producer id: whoever may write gets one, too.

    Args:
        code: The broker's error.
        names: Where it wants to write: topics or a transactional id.
        principal: Who writes; None if it is not known here.
        resource_type: What the names are.
    """
    return missing_rights(code, [NeededRight((AclOperation.WRITE,), resource_type, tuple(names))], principal)


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
