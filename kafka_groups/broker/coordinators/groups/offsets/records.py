"""The record that stores a committed offset: type 1 of `__consumer_offsets`, and type 0, its oldest format."""

from typing import ClassVar
from uuid import UUID

from attrs import frozen

__all__ = ["CommittedOffset", "OffsetCommitted"]

_NOT_SET = -1


@frozen
class CommittedOffset:
    """An offset that a group has committed for a partition.

    Attributes:
        offset: The next offset that the group wants to read.
        leader_epoch: Leader epoch of the record before it, or -1.
        metadata: The client's metadata, stored with the offset.
        commit_timestamp_ms: Time of the commit, in milliseconds since the epoch.
        expire_timestamp_ms: Time of expiry, or -1 for `offsets.retention.minutes`. Only old clients set it.
        topic_id: The topic, if it was known.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = _NOT_SET
    topic_id: UUID | None = None


@frozen
class OffsetCommitted:
    """A group's offset for a partition."""

    TYPE: ClassVar[int] = 1
    group_id: str
    topic: str
    partition: int
    value: CommittedOffset | None
