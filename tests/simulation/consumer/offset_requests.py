"""Requests of members about offsets, with the names and the ids of topics, so that they can be sent in any version."""

from collections.abc import Mapping
from uuid import UUID

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from tests.simulation.consumer.membership import GROUP, Membership, Partitions, Place
from tests.simulation.groups.offset_requests import committed_topic

__all__ = ["committing", "error_of_fetch", "fetching", "name_of", "positions_in"]


def name_of(metadata: ClusterMetadata, topic_id: UUID) -> str:
    """The name of a topic."""
    topic = metadata.topic_by_id(topic_id)
    assert topic is not None
    return topic.name


def committing(
    metadata: ClusterMetadata, member: Membership, epoch: int, positions: Mapping[Place, int], mark: str
) -> OffsetCommitRequest:
    """A commit of a member in one of its epochs. The mark becomes part of what is stored."""
    topics = (
        committed_topic(
            name_of(metadata, topic_id),
            topic_id,
            {number: offset for (owner, number), offset in positions.items() if owner == topic_id},
            mark,
        )
        for topic_id in sorted({topic_id for topic_id, _ in positions})
    )
    return OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=epoch,
        member_id=member.member_id,
        group_instance_id=member.instance,
        topics=tuple(topics),
    )


def fetching(metadata: ClusterMetadata, member: Membership, partitions: Partitions) -> OffsetFetchRequest:
    """A question of a member for what is committed."""
    topics = (
        OffsetFetchRequestTopic(
            name=name_of(metadata, topic_id),
            topic_id=topic_id,
            partition_indexes=tuple(sorted(number for owner, number in partitions if owner == topic_id)),
        )
        for topic_id in sorted({topic_id for topic_id, _ in partitions})
    )
    group = OffsetFetchRequestGroup(
        group_id=GROUP, member_id=member.member_id, member_epoch=member.epoch, topics=tuple(topics)
    )
    return OffsetFetchRequest(groups=(group,))


def error_of_fetch(response: OffsetFetchResponse) -> ErrorCode:
    """The error of the only group."""
    return response.groups[0].error_code


def positions_in(metadata: ClusterMetadata, response: OffsetFetchResponse) -> dict[Place, int]:
    """Where to begin, by partition."""
    found: dict[Place, int] = {}
    for topic in response.groups[0].topics:
        known = metadata.topic(topic.name)
        topic_id = topic.topic_id if known is None else known.topic_id
        assert topic_id is not None
        found |= {(topic_id, each.partition_index): max(each.committed_offset, 0) for each in topic.partitions}
    return found
