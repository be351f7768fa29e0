"""OffsetCommit (key 8), v2-v10: stores the offsets that a group has consumed up to."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable

FIRST_WITH_TOPIC_IDS: Final = 10
"""Version from which topics have an id instead of a name (KIP-848)."""
NO_GENERATION: Final = -1
"""Generation or epoch of a commit from outside the group. Only a group without members accepts it."""


@frozen(kw_only=True)
class OffsetCommitRequestPartition:
    """The offset of the next record to consume from one partition.

    The leader epoch is that of the last consumed record, or -1 if it is unknown (KIP-320).
    """

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = ignorable(-1)  # v6+
    committed_metadata: str | None = None


@frozen(kw_only=True)
class OffsetCommitRequestTopic:
    """Offsets of one topic: by id from v10, by name before. A request may set both."""

    name: str = ignorable("")  # v2-v9
    topic_id: UUID | None = ignorable(None)  # v10+
    partitions: tuple[OffsetCommitRequestPartition, ...] = ()


@frozen(kw_only=True)
class OffsetCommitRequest:
    """The second field is a classic group's generation, or the epoch of a consumer group's member (v9+, KIP-848).

    It is -1, with an empty `member_id`, if the commit is not from a member. A retention time of -1 means the broker's.
    """

    group_id: str
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None  # v7+
    retention_time_ms: int = ignorable(-1)  # v2-v4
    topics: tuple[OffsetCommitRequestTopic, ...] = ()


@frozen(kw_only=True)
class OffsetCommitResponsePartition:
    """The result for one partition. An error of the whole group is repeated for each partition."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetCommitResponseTopic:
    """Results of one topic: by id from v10, by name before. An unknown id gets UNKNOWN_TOPIC_ID."""

    name: str = ""  # v2-v9
    topic_id: UUID | None = None  # v10+
    partitions: tuple[OffsetCommitResponsePartition, ...] = ()


@frozen(kw_only=True)
class OffsetCommitResponse:
    """One result for each partition of the request."""

    throttle_time_ms: int = 0  # v3+
    topics: tuple[OffsetCommitResponseTopic, ...] = ()
