"""Questions about the offsets of streams applications: describe with lag, alter, delete (KIP-1071).

They commit offsets as consumer groups do, so requests about them would also change groups of other types. The
coordinators are therefore asked first whether these are streams groups, or may be the classic groups of a topology.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_groups.admin.rules.application_groups import (
    ApplicationGroup,
    application_groups,
    changeable_group,
    fitting_groups,
    not_empty,
)
from kafka_groups.admin.rules.arguments import split_topics
from kafka_groups.admin.rules.group_offsets import FetchedOffsets, commit_question, delete_question, fetch_all_question
from kafka_groups.admin.rules.group_topology.given_topology import GivenTopology
from kafka_groups.admin.rules.streams_values import StreamsGroupOffset
from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    KafkaGroupsError,
    UnknownMemberIdError,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = [
    "StreamsOffsets",
    "alter_streams_offsets",
    "delete_streams_offsets",
    "describe_streams_offsets",
    "known_lags",
    "offsets_of_groups",
    "stored_offsets",
]

StreamsOffsets = Results[TopicPartition, StreamsGroupOffset]


class ReadingGroup(Protocol):
    """A group that names the topics for which it commits offsets."""

    @property
    def read_topics(self) -> tuple[str, ...]:
        """Names of all topics that it reads: input topics and repartition topics."""
        ...


async def describe_streams_offsets(
    ask: Asking, wanted: Mapping[str, Iterable[TopicPartition] | None], topology: GivenTopology | None
) -> Results[str, StreamsOffsets]:
    """Ask the coordinators for the offsets of groups, and the leaders for the ends of partitions.

    Args:
        ask: Asks the brokers.
        wanted: The partitions by group; None for all that the group reads or has committed offsets for.
        topology: The topology of classic groups; None for streams groups.
    """
    found = await application_groups(ask, wanted, topology)
    offsets = await offsets_of_groups(ask, found.values, wanted)
    return Results(offsets.values, {**found.errors, **offsets.errors})


async def offsets_of_groups(
    ask: Asking,
    groups: Mapping[str, ReadingGroup],
    wanted: Mapping[str, Iterable[TopicPartition] | None],
) -> Results[str, StreamsOffsets]:
    """Return the offsets of groups that are known to be those of streams applications."""
    committed = await ask(fetch_all_question(groups))
    # Groups of which all partitions are wanted show those that they read, with and without an offset. Topics that
    # cannot be seen are left out.
    whole = [name for group_id in committed.values if wanted[group_id] is None for name in groups[group_id].read_topics]
    read = await partitions_of_topics(ask, whole)
    partitions = {
        group_id: _partitions(wanted[group_id], groups[group_id], read.values, positions)
        for group_id, positions in committed.values.items()
    }
    ends, starts = await _ends_and_starts(ask, partitions, committed.values)
    values = {
        group_id: gathered({key: _offset(key, positions, ends, starts) for key in partitions[group_id]})
        for group_id, positions in committed.values.items()
    }
    return Results(values, committed.errors)


def known_lags(offsets: StreamsOffsets) -> dict[TopicPartition, int | None]:
    """Return the lag in each partition; None where it is unknown."""
    known = {key: offset.lag for key, offset in offsets.values.items()}
    return {**known, **dict.fromkeys(offsets.errors)}


def _partitions(
    wanted: Iterable[TopicPartition] | None,
    group: ReadingGroup,
    read: Mapping[str, tuple[TopicPartition, ...]],
    committed: FetchedOffsets,
) -> tuple[TopicPartition, ...]:
    if wanted is not None:
        return tuple(dict.fromkeys(wanted))
    return tuple(sorted({*committed, *(key for name in group.read_topics for key in read.get(name, ()))}))


async def _ends_and_starts(
    ask: Asking, partitions: Mapping[str, tuple[TopicPartition, ...]], committed: Mapping[str, FetchedOffsets]
) -> tuple[Results[TopicPartition, int], Results[TopicPartition, int]]:
    """Return the ends of partitions, and the beginnings of those in which a group starts without an offset."""
    ends = await offsets_at(ask, (key for some in partitions.values() for key in some), LATEST)
    # A group that has not committed an offset starts at the beginning of the partition, so its lag counts from there.
    fresh = [
        key
        for group_id, some in partitions.items()
        for key in some
        if key in ends.values and committed[group_id].values.get(key) is None
    ]
    return ends, await offsets_at(ask, fresh, EARLIEST)


def _offset(
    key: TopicPartition,
    committed: FetchedOffsets,
    ends: Results[TopicPartition, int],
    starts: Results[TopicPartition, int],
) -> StreamsGroupOffset | KafkaGroupsError:
    error = committed.errors.get(key) or ends.errors.get(key) or starts.errors.get(key)
    if error is not None:
        return error
    position, end = committed.values.get(key), ends[key]
    return _from_beginning(starts[key], end) if position is None else _from_position(position, end)


def _from_beginning(start: int, end: int) -> StreamsGroupOffset:
    # Kafka Streams starts at the beginning unless `auto.offset.reset` says otherwise, which the coordinator does not
    # know.
    return StreamsGroupOffset(None, None, end, max(0, end - start))


def _from_position(position: OffsetAndMetadata, end: int) -> StreamsGroupOffset:
    # A committed offset can be after the end: the topic was created anew, or lost its last records.
    return StreamsGroupOffset(position.offset, position.leader_epoch, end, max(0, end - position.offset))


# ------------------------------------------------------------------------------------------------- changes


async def alter_streams_offsets(
    ask: Asking, group_id: str, offsets: Mapping[TopicPartition, int], topology: GivenTopology | None
) -> Results[TopicPartition, None]:
    """Have the coordinator set the committed offsets of a group without members.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        offsets: The offsets.
        topology: The topology of a classic group; None for a streams group.

    Raises:
        NonEmptyGroupError: The group has members.
        ConfigurationError: The topology cannot be that of the group.
        KafkaGroupsError: The coordinator refused the group.
    """
    return await stored_offsets(ask, await changeable_group(ask, group_id, topology), offsets)


async def stored_offsets(
    ask: Asking, group: ApplicationGroup, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, None]:
    """Commit offsets of a group that had no members a moment ago.

    Raises:
        NonEmptyGroupError: A member has joined.
        GroupAuthorizationFailedError: You may not change the group.
    """
    question = commit_question(group.group_id, {key: OffsetAndMetadata(offset) for key, offset in offsets.items()})
    done = (await ask(question))[group.group_id]
    for error in done.errors.values():
        if isinstance(error, UnknownMemberIdError):  # who is not a member may commit only while there are none
            raise not_empty(group, "one has just joined") from error
        # All partitions have this error, which is the group's.
        if isinstance(error, GroupAuthorizationFailedError):
            raise error
    return done


async def delete_streams_offsets(
    ask: Asking, group_id: str, topics: Iterable[str | TopicPartition] | None, topology: GivenTopology | None
) -> Results[TopicPartition, None]:
    """Have the coordinator forget committed offsets of a group.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        topics: Topics, single partitions, or both; None for all input topics.
        topology: The topology of a classic group; None for a streams group.

    Raises:
        ConfigurationError: The topology cannot be that of the group, or these are not topics.
        KafkaGroupsError: The coordinator refused the group, or a topic does not exist.
    """
    given = None if topics is None else split_topics(topics)
    # OffsetDelete works on groups of any type (KIP-496).
    group = (await fitting_groups(ask, await application_groups(ask, [group_id], topology)))[group_id]
    names, partitions = (group.input_topics, ()) if given is None else given
    whole = (await partitions_of_topics(ask, names)).checked().values
    every = [*partitions, *(key for some in whole.values() for key in some)]
    return (await ask(delete_question(group_id, every)))[group_id] if every else Results()
