"""OffsetDelete (key 47), v0: deletes committed offsets of topics that a group is not subscribed to (KIP-496)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class OffsetDeleteRequestPartition:
    """One partition whose offset to delete."""

    partition_index: int


@frozen(kw_only=True)
class OffsetDeleteRequestTopic:
    """Partitions of one topic, by its name."""

    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...] = ()


@frozen(kw_only=True)
class OffsetDeleteRequest:
    """Partitions of one group."""

    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...] = ()


@frozen(kw_only=True)
class OffsetDeleteResponsePartition:
    """The result for one partition: GROUP_SUBSCRIBED_TO_TOPIC if the group consumes the topic."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetDeleteResponseTopic:
    """Results of one topic."""

    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...] = ()


@frozen(kw_only=True)
class OffsetDeleteResponse:
    """The error applies to the group: GROUP_ID_NOT_FOUND, for example. There are no topics then."""

    error_code: ErrorCode = ErrorCode.NONE
    throttle_time_ms: int = 0
    topics: tuple[OffsetDeleteResponseTopic, ...] = ()
