"""Groups of any type as entries of documents."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from kafka_groups.admin import (
    ClassicGroupDescription,
    ClassicGroupMember,
    ConsumerGroupMember,
    ConsumerGroupOffset,
    GroupDescription,
    ShareGroupMember,
    ShareOffset,
    StreamsGroupMemberDescription,
    StreamsGroupOffset,
)
from kafka_groups.assignment.group.by_subtopology import tasks_in
from kafka_groups.cli.documents.described_groups import (
    AssignedTopicEntry,
    GroupContents,
    GroupMemberEntry,
    GroupOffsetEntry,
)
from kafka_groups.types import TopicPartition

__all__ = ["AnyGroupOffset", "contents_of", "offset_entries"]

AnyGroupOffset = ShareOffset | StreamsGroupOffset | ConsumerGroupOffset
AnyGroupMember = ShareGroupMember | StreamsGroupMemberDescription | ConsumerGroupMember | ClassicGroupMember


def contents_of(group: GroupDescription, offsets: Sequence[GroupOffsetEntry] | None) -> GroupContents:
    """Return a group as an entry. Its offsets are None if nobody asked for them."""
    protocol = assignor = epoch = assignment_epoch = None
    if isinstance(group, ClassicGroupDescription):
        protocol = group.protocol or None
    else:
        assignor, epoch, assignment_epoch = group.assignor or None, group.epoch, group.assignment_epoch
    return GroupContents(
        group.group_id,
        group.type,
        group.state,
        protocol,
        assignor,
        epoch,
        assignment_epoch,
        group.total_lag,
        None if group.lag_error is None else str(group.lag_error),
        tuple(map(_member, group.members)),
        None if offsets is None else tuple(offsets),
    )


def _member(member: AnyGroupMember) -> GroupMemberEntry:
    partitions: Iterable[TopicPartition] = ()
    topics: Sequence[str] = ()
    tasks = None
    if isinstance(member, StreamsGroupMemberDescription):
        tasks = tuple(str(task) for task in sorted(tasks_in(member.assignment.active)))
    else:
        partitions, topics = member.assignment, member.topics
    return GroupMemberEntry(
        member.member_id,
        None if isinstance(member, ShareGroupMember) else member.instance_id,
        member.client_id,
        member.client_host,
        None if isinstance(member, ClassicGroupMember) else member.rack,
        None if isinstance(member, ClassicGroupMember) else member.epoch,
        tuple(topics),
        _assigned(partitions),
        tasks,
    )


def _assigned(partitions: Iterable[TopicPartition]) -> tuple[AssignedTopicEntry, ...]:
    by_topic = groupby(sorted(partitions), attrgetter("topic"))
    return tuple(AssignedTopicEntry(topic, tuple(each.partition for each in found)) for topic, found in by_topic)


def offset_entries(offsets: Mapping[TopicPartition, AnyGroupOffset]) -> Sequence[GroupOffsetEntry]:
    """Return the offsets of a group as entries, sorted by partition."""
    return [_offset(place, offset) for place, offset in sorted(offsets.items())]


def _offset(place: TopicPartition, offset: AnyGroupOffset) -> GroupOffsetEntry:
    if isinstance(offset, ShareOffset):
        return GroupOffsetEntry(place.topic, place.partition, offset.start_offset, None, offset.lag)
    return GroupOffsetEntry(place.topic, place.partition, offset.offset, offset.end_offset, offset.lag)
