"""Checks of what callers ask of topics; each error names the value and what to give instead."""

from collections.abc import Mapping
from typing import Final, Literal

from kafka_groups.admin.rules.topics import TopicToCreate
from kafka_groups.client.calls.record_deletion import HIGH_WATERMARK
from kafka_groups.config.places import checked_name, checked_partition, checked_topic, is_offset
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.messages.create_topics import BROKER_DEFAULT
from kafka_groups.types import TopicPartition

__all__ = ["DeletedBefore", "checked_deletions", "checked_new_topics", "checked_totals"]

DeletedBefore = int | Literal["latest"]
"""The offset before which records are deleted, or `latest` for all of them."""

_LATEST: Final = "latest"
_MOST_PARTITIONS: Final = 2**31 - 1
_MOST_REPLICAS: Final = 2**15 - 1


def checked_new_topics(topics: object) -> dict[str, TopicToCreate]:
    """Return topics to create, by name.

    Raises:
        ConfigurationError: Not a dictionary of `TopicToCreate`, or one with a name, number or config that is invalid.
    """
    if not isinstance(topics, Mapping) or not topics:
        raise ConfigurationError(f"topics={topics!r}: give a dictionary, such as {{'orders': TopicToCreate(3)}}")
    return {checked_topic(name, "topics"): _checked_topic(name, topic) for name, topic in topics.items()}


def _checked_topic(name: str, topic: object) -> TopicToCreate:
    if not isinstance(topic, TopicToCreate):
        raise ConfigurationError(
            f"topics: {topic!r} of {name} is not a TopicToCreate: give one, such as TopicToCreate(3)"
        )
    _check_count(topic.partitions, f"The number of partitions of {name}", _MOST_PARTITIONS)
    _check_count(topic.replication_factor, f"The replication factor of {name}", _MOST_REPLICAS)
    for key, value in topic.configs.items():
        if not isinstance(checked_name(key, f"configs of {name}"), str) or not isinstance(value, str):
            raise ConfigurationError(f"configs of {name}: {key}={value!r} is not text: give {str(value)!r}")
    return topic


def _check_count(value: object, what: str, most: int) -> None:
    if value != BROKER_DEFAULT and not _is_count(value, most):
        raise ConfigurationError(
            f"{what}, {value!r}, is invalid: use a whole number from 1 to {most:,}, or {BROKER_DEFAULT} for the"
            " brokers' default"
        )


def _is_count(value: object, most: int) -> bool:
    return is_offset(value) and 1 <= value <= most


def checked_totals(totals: object) -> dict[str, int]:
    """Return the new numbers of partitions by topic.

    Raises:
        ConfigurationError: Not a dictionary of numbers by topic, or a number that is out of bounds.
    """
    if not isinstance(totals, Mapping) or not totals:
        raise ConfigurationError(
            f"totals={totals!r}: give a dictionary of numbers of partitions, such as {{'orders': 6}}"
        )
    for name, total in totals.items():
        checked_name(name, "totals")
        if not _is_count(total, _MOST_PARTITIONS):
            raise ConfigurationError(
                f"totals: {total!r} of {name} is invalid: give the number of partitions that it will have, from 1 to"
                f" {_MOST_PARTITIONS:,}"
            )
    return dict(totals)


def checked_deletions(before: object) -> dict[TopicPartition, int]:
    """Return the offsets before which records are deleted, by partition.

    Raises:
        ConfigurationError: Not a dictionary of offsets by partition.
    """
    if not isinstance(before, Mapping) or not before:
        raise ConfigurationError(f"before={before!r}: give a dictionary of offsets by TopicPartition")
    return {checked_partition(key, "before"): _checked_end(key, value) for key, value in before.items()}


def _checked_end(key: TopicPartition, value: object) -> int:
    if value == _LATEST:
        return HIGH_WATERMARK
    if not is_offset(value):
        raise ConfigurationError(
            f"before: {value!r} is not an offset of {key}: give a number, 0 or more, or 'latest' for all records"
        )
    return value
