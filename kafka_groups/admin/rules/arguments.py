"""Checks of what callers give to an admin client; each error names the value and what to give instead."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from kafka_groups.admin.rules.transactions import TransactionFilter
from kafka_groups.config.places import checked_name, checked_partitions, is_offset
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.messages.list_offsets import EARLIEST, LATEST
from kafka_groups.types import TopicPartition

__all__ = [
    "EVERYONE",
    "check_reason",
    "checked_changes",
    "checked_duration",
    "checked_filter",
    "checked_names",
    "checked_offsets",
    "checked_place",
    "checked_start_offset",
    "checked_states",
    "checked_topic_partitions",
    "checked_wanted",
    "split_topics",
]

EVERYONE = "everyone"
_PLACES = {"earliest": EARLIEST, "latest": LATEST}


def checked_names(names: object, name: str) -> tuple[str, ...]:
    """Return names without repeats.

    Raises:
        ConfigurationError: A single string, none at all, or something else than names.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise ConfigurationError(f"{name}={names!r}: give a list of names, such as [{names!r}]")
    found = tuple(dict.fromkeys([checked_name(each, name) for each in names]))
    if not found:
        raise ConfigurationError(f"{name} is empty: give at least one name")
    return found


def check_reason(reason: object) -> None:
    """Check the reason of a removal.

    Raises:
        ConfigurationError: It is neither None nor text.
    """
    if reason is not None:
        checked_name(reason, "reason")


def checked_states(states: object, name: str = "states") -> tuple[str, ...]:
    """Return the wanted states of groups, or names of something else; none for all.

    Raises:
        ConfigurationError: A single string, or something else than names of states.
    """
    if isinstance(states, Iterable) and not isinstance(states, str | bytes):
        given = tuple(states)
        return checked_names(given, name) if given else ()
    return checked_names(states, name)


def checked_wanted(groups: object) -> Mapping[str, Iterable[TopicPartition] | None]:
    """Return the wanted partitions by group; None for all.

    Raises:
        ConfigurationError: Not names of groups, or not partitions.
    """
    if not isinstance(groups, Mapping):
        return dict.fromkeys(checked_names(groups, "groups"))
    checked_names(groups, "groups")
    return {group: None if some is None else checked_topic_partitions(some, "groups") for group, some in groups.items()}


def checked_offsets(offsets: object) -> dict[TopicPartition, int]:
    """Return offsets by partition.

    Raises:
        ConfigurationError: Something else, or an offset below 0.
    """
    if not isinstance(offsets, Mapping):
        raise ConfigurationError(f"offsets={offsets!r}: give a dictionary of offsets by TopicPartition")
    checked_topic_partitions(offsets, "offsets")
    for partition, offset in offsets.items():
        if not is_offset(offset):
            raise ConfigurationError(f"offsets: {offset!r} is not an offset of {partition}: give a number, 0 or more")
    return dict(offsets)


def checked_topic_partitions(partitions: object, name: str) -> tuple[TopicPartition, ...]:
    """Return partitions without repeats.

    Raises:
        ConfigurationError: Not a collection of partitions, or an empty one.
    """
    found = checked_partitions(partitions, name)
    if not found:
        raise ConfigurationError(f"{name} is empty: give at least one TopicPartition")
    return found


def split_topics(topics: object) -> tuple[tuple[str, ...], tuple[TopicPartition, ...]]:
    """Return whole topics, and single partitions.

    Raises:
        ConfigurationError: A single string, none at all, or something else than topics and partitions.
    """
    if isinstance(topics, str | bytes) or not isinstance(topics, Iterable):
        raise ConfigurationError(f"topics={topics!r}: give a list of topics or partitions, such as [{topics!r}]")
    given = tuple(topics)
    partitions = checked_partitions([each for each in given if isinstance(each, TopicPartition)], "topics")
    names = [each for each in given if not isinstance(each, TopicPartition)]
    return checked_names(names, "topics") if names or not partitions else (), partitions


def checked_place(place: object) -> int:
    """Return the timestamp that stands for a place in a partition.

    Raises:
        ConfigurationError: Neither "earliest" nor "latest" nor a time with a time zone.
    """
    if isinstance(place, str) and place in _PLACES:
        return _PLACES[place]
    if not isinstance(place, datetime):
        raise ConfigurationError(f"to={place!r}: give 'earliest', 'latest' or a datetime")
    if place.tzinfo is None:
        raise ConfigurationError(f"to={place!r} has no time zone: add one, such as tzinfo=datetime.UTC")
    return max(0, round(place.timestamp() * 1000))  # below 0 are numbers with a meaning, such as LATEST


def checked_changes(changes: object) -> Mapping[str, Mapping[str, str | None]]:
    """Return changes of configurations by group.

    Raises:
        ConfigurationError: Something else.
    """
    if not isinstance(changes, Mapping):
        raise ConfigurationError(f"changes={changes!r}: give a dictionary of changes by group")
    checked_names(changes, "changes")
    for group, values in changes.items():
        if not isinstance(values, Mapping):
            raise ConfigurationError(f"changes of {group}: {values!r} is not a dictionary of values by name")
        checked_names(values, f"changes of {group}")
        for name, value in values.items():
            if value is not None and not isinstance(value, str):
                raise ConfigurationError(f"changes of {group}: {name}={value!r} is not text: give {str(value)!r}")
    return changes


def checked_filter(states: object, producer_ids: object, open_for_ms: object, pattern: object) -> TransactionFilter:
    """Return what a list of transactional ids is limited to.

    Raises:
        ConfigurationError: A value is of another type, or negative, or the pattern is empty.
    """
    if isinstance(producer_ids, str | bytes) or not isinstance(producer_ids, Iterable):
        raise ConfigurationError(f"producer_ids={producer_ids!r}: give a list of numbers, such as [1000]")
    ids = tuple(producer_ids)
    for each in ids:
        if not is_offset(each):
            raise ConfigurationError(f"producer_ids: {each!r} is not the id of a producer: give a number, 0 or more")
    if open_for_ms is not None and not is_offset(open_for_ms):
        raise ConfigurationError(
            f"open_for_ms={open_for_ms!r}: give a whole number of milliseconds, 0 or more, or None"
        )
    wanted = None if pattern is None else checked_name(pattern, "pattern")
    return TransactionFilter(checked_states(states), ids, -1 if open_for_ms is None else open_for_ms, wanted)


def checked_start_offset(offset: object) -> int:
    """Return the offset at which a transaction begins.

    Raises:
        ConfigurationError: It is not a number of 0 or more.
    """
    if not is_offset(offset):
        raise ConfigurationError(f"start_offset={offset!r}: give the offset at which the transaction begins, 0 or more")
    return offset


def checked_duration(value: object, name: str) -> int:
    """Return a number of milliseconds.

    Raises:
        ConfigurationError: It is not a whole number of 0 or more.
    """
    if not is_offset(value):
        raise ConfigurationError(f"{name}={value!r}: give a whole number of milliseconds, 0 or more")
    return value
