"""Questions about the offsets of streams groups: describe with lag, alter, delete (KIP-1071).

Streams groups commit offsets as consumer groups do, so requests about them would also change groups of other types.
The coordinators are therefore asked first whether these are streams groups.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_groups.admin.rules.group_offsets import FetchedOffsets, commit_question, delete_question, fetch_all_question
from kafka_groups.admin.rules.streams_descriptions import described_streams_groups
from kafka_groups.admin.rules.streams_values import StreamsGroupDescription, StreamsGroupOffset
from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    KafkaGroupsError,
    NonEmptyGroupError,
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
    "without_members",
]

StreamsOffsets = Results[TopicPartition, StreamsGroupOffset]


class ReadingGroup(Protocol):
    """A group that names the topics for which it commits offsets."""

    @property
    def read_topics(self) -> tuple[str, ...]:
        """Names of all topics that it reads: input topics and repartition topics."""
        ...


async def describe_streams_offsets(
    ask: Asking, wanted: Mapping[str, Iterable[TopicPartition] | None]
) -> Results[str, StreamsOffsets]:
    """Ask the coordinators for the offsets of groups, and the leaders for the ends of partitions.

    Args:
        ask: Asks the brokers.
        wanted: The partitions by group; None for all that the group reads or has committed offsets for.
    """
    described = await described_streams_groups(ask, wanted)
    offsets = await offsets_of_groups(ask, described.values, wanted)
    return Results(offsets.values, {**described.errors, **offsets.errors})


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
    ask: Asking, group_id: str, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, None]:
    """Have the coordinator set the committed offsets of a streams group without members.

    Raises:
        NonEmptyGroupError: The group has members.
        KafkaGroupsError: The coordinator refused the group.
    """
    await without_members(ask, group_id)
    return await stored_offsets(ask, group_id, offsets)


async def without_members(ask: Asking, group_id: str) -> StreamsGroupDescription:
    """Return a group that has no members.

    Raises:
        NonEmptyGroupError: The group has members.
        KafkaGroupsError: The coordinator refused the group.
    """
    group = (await described_streams_groups(ask, [group_id]))[group_id]
    if group.has_members:
        raise _not_empty(group_id, f"it is {group.state}")
    return group


def _not_empty(group_id: str, why: str) -> NonEmptyGroupError:
    return NonEmptyGroupError(f"The streams group {group_id} has members ({why}). Stop its application first.")


async def stored_offsets(
    ask: Asking, group_id: str, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, None]:
    """Commit offsets of a group that had no members a moment ago.

    Raises:
        NonEmptyGroupError: A member has joined.
        GroupAuthorizationFailedError: You may not change the group.
    """
    question = commit_question(group_id, {key: OffsetAndMetadata(offset) for key, offset in offsets.items()})
    done = (await ask(question))[group_id]
    for error in done.errors.values():
        if isinstance(error, UnknownMemberIdError):  # who is not a member may commit only while there are none
            raise _not_empty(group_id, "one has just joined") from error
        # All partitions have this error, which is the group's.
        if isinstance(error, GroupAuthorizationFailedError):
            raise error
    return done


async def delete_streams_offsets(
    ask: Asking, group_id: str, partitions: Iterable[TopicPartition]
) -> Results[TopicPartition, None]:
    """Have the coordinator forget committed offsets of a streams group.

    Raises:
        KafkaGroupsError: The coordinator refused the group.
    """
    # OffsetDelete works on groups of any type (KIP-496).
    (await described_streams_groups(ask, [group_id])).checked()
    return (await ask(delete_question(group_id, partitions)))[group_id]
