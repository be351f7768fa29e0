"""Missing rights among the errors of librdkafka, which names neither the user nor the operation."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.client.principals import principal_in
from kafka_groups.client.rights import NeededRight, explained, missing_rights
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    DeliveryFailedError,
    KafkaGroupsError,
    TopicAuthorizationFailedError,
)
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["explained_reading", "naming_rights_to_write"]


@contextmanager
def naming_rights_to_write(topic: str, keys: Mapping[str, object]) -> Iterator[None]:
    """Have the error of records that were not written say what to grant, if that is the reason.

    Args:
        topic: The topic.
        keys: The configuration of the producer, by Kafka's names.
    """
    try:
        yield
    except DeliveryFailedError as error:
        # Without a right to write to any topic, there is no producer id: that is the error about the cluster.
        if isinstance(error.__cause__, TopicAuthorizationFailedError | ClusterAuthorizationFailedError):
            raise _told(error, ErrorCode(error.__cause__.code), topic, keys) from error
        raise


def _told(error: DeliveryFailedError, code: ErrorCode, topic: str, keys: Mapping[str, object]) -> DeliveryFailedError:
    right = NeededRight((AclOperation.WRITE,), AclResourceType.TOPIC, (topic,))
    text = sentences(str(error), str(missing_rights(code, [right], principal_in(keys))))
    told = DeliveryFailedError(text, failed=error.failed, unanswered=error.unanswered, retriable=error.retriable)
    told.says_remedy = True
    return told


def explained_reading(error: KafkaGroupsError, topic: str, keys: Mapping[str, object]) -> KafkaGroupsError:
    """Return the error of a reader, which says what to grant if a right is missing."""
    return explained(error, ApiKey.FETCH, (topic,), principal_in(keys))
