"""The errors of a producer that are about one record, and what to do about them."""

from collections.abc import Mapping

from kafka_groups.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaGroupsError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

__all__ = ["OF_ONE_RECORD", "cure_of"]

# Kafka asks the production handler about every error but those of RecordCollectorImpl.isFatalException and of fenced
# producers. This list is the other way round, because with any other error the producer writes nothing more at all.
# InvalidTopicException and authorization errors are fatal in Java, and not here: a sink may choose its topic by the
# record.
OF_ONE_RECORD = (
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
"""The errors of a producer that are about a record or its topic. With another one it writes nothing more at all."""

_CURES: Mapping[type[Exception], str] = {
    MessageTooLargeError: (
        "Make records smaller, or allow larger ones: max.message.bytes of the topic, and max.request.size of the "
        "producer"
    ),
    TopicAuthorizationFailedError: "Allow the application's user to write to {topic}",
    UnknownTopicOrPartitionError: "Create {topic}",
}
"""The remedy for each error of writing."""


def cure_of(error: Exception, topic: str) -> str:
    """Return the remedy for an error of writing to a topic; an empty text if there is none, or the error says it."""
    if isinstance(error, KafkaGroupsError) and error.says_remedy:
        return ""
    return _CURES.get(type(error), "").format(topic=topic)
