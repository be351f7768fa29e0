"""Resetting the offsets of streams applications, and deleting their internal topics (KIP-1071).

The rules are those of Kafka's tool for streams groups: only groups without members are reset, offsets that do not exist
become the nearest ones that do, and a time after the last record is the end of the partition.
"""

from collections.abc import Iterable, Mapping

from kafka_groups.admin.rules.application_groups import ApplicationGroup, changeable_group, group_or_forgotten
from kafka_groups.admin.rules.arguments import split_topics
from kafka_groups.admin.rules.group_offsets import FetchedOffsets, fetch_all_question
from kafka_groups.admin.rules.group_topology.given_topology import GivenTopology
from kafka_groups.admin.rules.reset_targets import AtCommitted, AtOffset, AtOffsets, AtTime, ResetTarget, ShiftedBy
from kafka_groups.admin.rules.streams_offsets import stored_offsets
from kafka_groups.admin.rules.topics import delete_topics, partitions_of_topics
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at, offsets_at_or_ends
from kafka_groups.client.calls.questions import Asking, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import ConfigurationError, IllegalStateError, KafkaGroupsError, UnknownTopicOrPartitionError
from kafka_groups.types import TopicPartition

__all__ = ["delete_internal_topics", "reset_streams_offsets"]

Topics = Iterable[str | TopicPartition]
NewOffsets = Results[TopicPartition, int]


async def reset_streams_offsets(
    ask: Asking,
    group_id: str,
    target: ResetTarget,
    topics: Topics | None,
    topology: GivenTopology | None,
    *,
    dry_run: bool,
) -> NewOffsets:
    """Move a group without members.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        target: Where it continues.
        topics: Topics, single partitions, or both; None for all input topics.
        topology: The topology of a classic group; None for a streams group.
        dry_run: Whether to return the new offsets without a change.

    Raises:
        NonEmptyGroupError: The group has members.
        ConfigurationError: The group does not read one of the topics, or the topology cannot be that of the group.
        KafkaGroupsError: The coordinator refused the group.
    """
    group = await changeable_group(ask, group_id, topology)
    committed = (await ask(fetch_all_question([group_id])))[group_id]
    partitions = await _partitions(ask, group, target, topics, committed)
    planned = await _planned(ask, target, partitions, committed)
    if dry_run or not planned.values:
        return planned
    done = await stored_offsets(ask, group, planned.values)
    return Results({key: planned[key] for key in done.values}, {**planned.errors, **done.errors})


# -------------------------------------------------------------------------------------------- which partitions


async def _partitions(
    ask: Asking, group: ApplicationGroup, target: ResetTarget, topics: Topics | None, committed: FetchedOffsets
) -> tuple[TopicPartition, ...]:
    if isinstance(target, AtOffsets):
        if topics is not None:
            raise ConfigurationError("topics: the dictionary of offsets names the partitions already; leave topics out")
        topics = target.offsets
    if topics is None:
        return await _input_partitions(ask, group, target, committed)
    names, partitions = split_topics(topics)
    _check_read(group, {*names, *(key.topic for key in partitions)}, committed)
    found = (await partitions_of_topics(ask, names)).checked()
    return tuple(dict.fromkeys([*partitions, *(key for some in found.values.values() for key in some)]))


async def _input_partitions(
    ask: Asking, group: ApplicationGroup, target: ResetTarget, committed: FetchedOffsets
) -> tuple[TopicPartition, ...]:
    """Return the partitions of all input topics; with a target that is relative, those with a committed offset."""
    found = (await partitions_of_topics(ask, group.input_topics)).checked()
    partitions = tuple(key for some in found.values.values() for key in some)
    # Without a committed offset there is nothing to be relative to.
    if isinstance(target, AtCommitted | ShiftedBy):
        return tuple(key for key in partitions if key in committed)
    return partitions


def _check_read(group: ApplicationGroup, topics: Iterable[str], committed: FetchedOffsets) -> None:
    # A topic with committed offsets counts, too: a group that was a classic one keeps its offsets, and the topology may
    # have changed since.
    known = {*group.read_topics, *(key.topic for key in committed)}
    strange = sorted(set(topics) - known)
    if strange:
        raise ConfigurationError(
            f"topics: the {group.kind} {group.group_id} does not read {', '.join(strange)};"
            f" it reads {', '.join(sorted(known)) or 'no topics'}"
        )


# ------------------------------------------------------------------------------------------------ where to


async def _planned(
    ask: Asking, target: ResetTarget, partitions: tuple[TopicPartition, ...], committed: FetchedOffsets
) -> NewOffsets:
    match target:
        # There are five targets, as in kafka-streams-groups.sh: KIP-1071, "Command-line tools".
        case AtTime(timestamp):
            return await offsets_at_or_ends(ask, partitions, timestamp)
        case AtOffset(offset):
            return await _existing(ask, Results(dict.fromkeys(partitions, offset)))
        case AtOffsets(offsets):
            return await _existing(ask, Results(offsets))
        case ShiftedBy(by):
            return await _existing(ask, gathered({key: _shifted(key, by, committed) for key in partitions}))
        case AtCommitted():
            return await _current(ask, partitions, committed)


def _shifted(key: TopicPartition, by: int, committed: FetchedOffsets) -> int | KafkaGroupsError:
    position = committed.values.get(key)
    if position is None:
        return IllegalStateError(f"{key} has no committed offset that could be shifted. Reset it to a place instead.")
    return position.offset + by


async def _current(ask: Asking, partitions: Iterable[TopicPartition], committed: FetchedOffsets) -> NewOffsets:
    positions = {key: committed.values.get(key) for key in partitions}
    known = {key: position.offset for key, position in positions.items() if position is not None}
    # A partition that was named and has no committed offset goes to its end, as in Kafka's tool.
    ends = await offsets_at(ask, [key for key in positions if key not in known], LATEST)
    return Results({**known, **ends.values}, ends.errors)


async def _existing(ask: Asking, wanted: NewOffsets) -> NewOffsets:
    """Return offsets within the partitions: at least the first, and at most the end."""
    starts = await offsets_at(ask, wanted.values, EARLIEST)
    ends = await offsets_at(ask, wanted.values, LATEST)
    errors: Mapping[TopicPartition, KafkaGroupsError] = {**wanted.errors, **starts.errors, **ends.errors}
    values = {
        key: max(starts[key], min(offset, ends[key])) for key, offset in wanted.values.items() if key not in errors
    }
    return Results(values, errors)


# ------------------------------------------------------------------------------------------ internal topics


async def delete_internal_topics(
    ask: Asking, group_id: str, topics: Iterable[str] | None, topology: GivenTopology | None
) -> Results[str, None]:
    """Delete internal topics of a group without members.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        topics: Names of internal topics; None for all, of a classic group for those that exist.
        topology: The topology of a classic group; None for a streams group.

    Raises:
        NonEmptyGroupError: The group has members.
        ConfigurationError: One of the topics is not an internal topic of the group, or the topology cannot be that of
            the group.
        KafkaGroupsError: The coordinator refused the group.
    """
    group = await group_or_forgotten(ask, group_id, topology)
    names = await _all_internal_topics(ask, group) if topics is None else tuple(topics)
    # KIP-1071, "Command-line tools": only internal topics of the group may be named.
    strange = sorted(set(names) - set(group.internal_topics))
    if strange:
        raise ConfigurationError(
            f"topics: {', '.join(strange)} is not an internal topic of the {group.kind} {group_id};"
            f" those are {', '.join(group.internal_topics) or 'none'}"
        )
    return await delete_topics(ask, names)


async def _all_internal_topics(ask: Asking, group: ApplicationGroup) -> tuple[str, ...]:
    # The coordinator of a streams group has created all topics. A topology that is given may have some that nobody has
    # created yet, and a second reset finds what the first has left.
    if group.is_streams_group:
        return group.internal_topics
    errors = (await partitions_of_topics(ask, group.internal_topics)).errors
    return tuple(
        name for name in group.internal_topics if not isinstance(errors.get(name), UnknownTopicOrPartitionError)
    )
