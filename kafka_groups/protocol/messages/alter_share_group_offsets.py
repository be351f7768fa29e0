"""AlterShareGroupOffsets (key 91), v0: set the start offsets of a share group without members (KIP-932)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class AlterShareGroupOffsetsRequestPartition:
    """The new start offset of one share-partition."""

    partition_index: int
    start_offset: int


@frozen(kw_only=True)
class AlterShareGroupOffsetsRequestTopic:
    """Share-partitions of one topic, by its name."""

    topic_name: str
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...] = ()


@frozen(kw_only=True)
class AlterShareGroupOffsetsRequest:
    """Start offsets of one group. A group that does not exist is created."""

    group_id: str
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...] = ()


@frozen(kw_only=True)
class AlterShareGroupOffsetsResponsePartition:
    """The result for one share-partition."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class AlterShareGroupOffsetsResponseTopic:
    """Share-partitions of one topic. The id is None if the topic is unknown."""

    topic_name: str
    topic_id: UUID | None = None
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...] = ()


@frozen(kw_only=True)
class AlterShareGroupOffsetsResponse:
    """The error applies to the group: NON_EMPTY_GROUP if it has members."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...] = ()
