"""Checks of the names, partitions and offsets that public calls take.

What cannot be written into a request is refused here, in the caller, with the value and the remedy.
"""

from collections.abc import Iterable
from typing import Final, TypeGuard

from kafka_groups.config.readers import is_utf8
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences
from kafka_groups.types import OffsetAndMetadata, TopicPartition, is_topic_name

__all__ = [
    "checked_name",
    "checked_offset",
    "checked_partition",
    "checked_partitions",
    "checked_topic",
    "is_offset",
]

_LONGEST_BYTES: Final = 32_767
_MOST_PARTITIONS: Final = 2**31
_LARGEST_OFFSET: Final = 2**63 - 1
_PATTERN: Final = frozenset("*+?^$|[](){}\\")


def checked_name(value: object, name: str) -> str:
    """Return the name of a group, a topic or a member.

    Args:
        value: The caller's value.
        name: Name of the parameter.

    Raises:
        ConfigurationError: It is not text that can be sent.
    """
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{name}: {value!r} is not a name: use text that is not empty")
    if not _can_be_sent(value):
        raise ConfigurationError(
            f"{name}: {value[:40]!r} is not a name: use at most {_LONGEST_BYTES:,} bytes of UTF-8, without surrogates"
        )
    return value


def checked_topic(value: object, name: str) -> str:
    """Return the name of a topic.

    Args:
        value: The caller's value.
        name: Name of the parameter.

    Raises:
        ConfigurationError: It is not text, or Kafka allows no topic with this name.
    """
    topic = checked_name(value, name)
    if not is_topic_name(topic):
        is_pattern = not _PATTERN.isdisjoint(topic)
        rule = "use 1 to 249 ASCII letters, digits, '.', '_' and '-'"
        more = "Share groups have no patterns in Kafka 4.4: name each topic" if is_pattern else ""
        raise ConfigurationError(sentences(f"{name}: {topic[:260]!r} is not the name of a topic: {rule}", more))
    return topic


def _can_be_sent(text: str) -> bool:
    return is_utf8(text) and len(text.encode()) <= _LONGEST_BYTES


def checked_partition(value: object, name: str) -> TopicPartition:
    """Return a partition.

    Raises:
        ConfigurationError: It is not a `TopicPartition`, or its topic or number is invalid.
    """
    if not isinstance(value, TopicPartition):
        raise ConfigurationError(f"{name}: {value!r} is not a TopicPartition of kafka_groups: give {_meant(value)}")
    checked_name(value.topic, f"{name}: the topic of {value!r}")
    number: object = value.partition
    if not _is_whole(number) or not 0 <= number < _MOST_PARTITIONS:
        raise ConfigurationError(
            f"{name}: {value.partition!r} is not a partition of {value.topic}: use a whole number from 0 to"
            f" {_MOST_PARTITIONS - 1}"
        )
    return value


def _meant(value: object) -> str:
    """Return the partition that a caller who gave another client's, or a tuple, may have meant."""
    topic, partition = getattr(value, "topic", None), getattr(value, "partition", None)
    if isinstance(value, tuple) and len(value) == 2:
        topic, partition = value
    if isinstance(topic, str) and _is_whole(partition):
        return f"TopicPartition({topic!r}, {partition})"
    return "one such as TopicPartition('orders', 0)"


def checked_partitions(values: object, name: str) -> tuple[TopicPartition, ...]:
    """Return partitions without repeats.

    Raises:
        ConfigurationError: It is not a collection of `TopicPartition`.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ConfigurationError(f"{name}={values!r}: give a list, such as [TopicPartition('orders', 0)]")
    return tuple(dict.fromkeys([checked_partition(each, name) for each in values]))


def checked_offset(key: TopicPartition, value: object) -> OffsetAndMetadata:
    """Return an offset to commit.

    Raises:
        ConfigurationError: It is not a whole number of 0 or more; or its leader epoch or its metadata is invalid.
    """
    found = value if isinstance(value, OffsetAndMetadata) else OffsetAndMetadata(value)  # type: ignore[arg-type]
    if not is_offset(found.offset):
        raise ConfigurationError(f"The offset {found.offset!r} of {key} is invalid. Use a whole number of 0 or more.")
    epoch: object = found.leader_epoch
    metadata: object = found.metadata
    if epoch is not None and not (_is_whole(epoch) and 0 <= epoch < 2**31):
        raise ConfigurationError(f"The leader_epoch {epoch!r} of {key} is invalid. Use a whole number, or None.")
    if not isinstance(metadata, str) or not _can_be_sent(metadata):
        raise ConfigurationError(
            f"The metadata of {key} is invalid: use text of at most {_LONGEST_BYTES:,} bytes of UTF-8."
        )
    return found


def is_offset(value: object) -> TypeGuard[int]:
    """Return whether a value is the offset of a record."""
    return _is_whole(value) and 0 <= value <= _LARGEST_OFFSET


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
