"""Requests of members to commit offsets, in any version, and what is answered."""

from collections.abc import Mapping
from uuid import UUID

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

__all__ = ["committed_topic", "error_of_commit"]


def committed_topic(
    name: str, topic_id: UUID | None, offsets: Mapping[int, int], mark: str
) -> OffsetCommitRequestTopic:
    """The offsets of a topic by partition. The mark becomes part of what is stored."""
    partitions = (
        OffsetCommitRequestPartition(partition_index=number, committed_offset=offset, committed_metadata=mark)
        for number, offset in offsets.items()
    )
    return OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=tuple(partitions))


def error_of_commit(response: OffsetCommitResponse) -> ErrorCode:
    """The first error of a commit."""
    errors = [each.error_code for topic in response.topics for each in topic.partitions]
    return next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)
