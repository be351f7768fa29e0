"""Questions about the offsets of consumer groups and classic groups: describe, with lag (OffsetFetch, ListOffsets)."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from attrs import evolve

from kafka_groups.admin.rules.group_offsets import FetchedOffsets, fetch_all_question
from kafka_groups.admin.rules.group_values import ClassicGroupDescription, ConsumerGroupDescription, ConsumerGroupOffset
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TopicPartition

__all__ = ["ConsumerOffsets", "describe_consumer_offsets", "with_lags"]

D = TypeVar("D", ClassicGroupDescription, ConsumerGroupDescription)

ConsumerOffsets = Results[TopicPartition, ConsumerGroupOffset]


async def describe_consumer_offsets(
    ask: Asking, wanted: Mapping[str, Iterable[TopicPartition] | None]
) -> Results[str, ConsumerOffsets]:
    """Ask the coordinators for the committed offsets of groups, and the leaders for the ends of partitions.

    Args:
        ask: Asks the brokers.
        wanted: The partitions by group; None for all for which the group has committed an offset.
    """
    committed = await ask(fetch_all_question(wanted))
    partitions = {group: _partitions(wanted[group], offsets) for group, offsets in committed.values.items()}
    ends = await offsets_at(ask, (key for some in partitions.values() for key in some), LATEST)
    values = {
        group: gathered({key: _offset(key, offsets, ends) for key in partitions[group]})
        for group, offsets in committed.values.items()
    }
    return Results(values, committed.errors)


async def with_lags(ask: Asking, described: Results[str, D]) -> Results[str, D]:
    """Ask for the lags of described groups.

    Returns:
        The descriptions with a lag for each partition that has a committed offset, or with the error of the question.
    """
    offsets = await describe_consumer_offsets(ask, dict.fromkeys(described.values))
    values = {
        group_id: evolve(group, lag=_lags_of(offsets.values[group_id]))
        if group_id in offsets.values
        else evolve(group, lag_error=offsets.errors[group_id])
        for group_id, group in described.values.items()
    }
    return Results(values, described.errors)


def _lags_of(offsets: ConsumerOffsets) -> dict[TopicPartition, int | None]:
    return {**{key: offset.lag for key, offset in offsets.values.items()}, **dict.fromkeys(offsets.errors)}


def _partitions(wanted: Iterable[TopicPartition] | None, committed: FetchedOffsets) -> tuple[TopicPartition, ...]:
    return tuple(sorted(committed)) if wanted is None else tuple(dict.fromkeys(wanted))


def _offset(
    key: TopicPartition, committed: FetchedOffsets, ends: Results[TopicPartition, int]
) -> ConsumerGroupOffset | KafkaGroupsError:
    error = committed.errors.get(key) or ends.errors.get(key)
    if error is not None:
        return error
    position, end = committed.values.get(key), ends[key]
    if position is None:
        return ConsumerGroupOffset(None, None, "", end, None)
    # A committed offset can be after the end: the topic was created anew, or lost its last records.
    lag = max(0, end - position.offset)
    return ConsumerGroupOffset(position.offset, position.leader_epoch, position.metadata, end, lag)
