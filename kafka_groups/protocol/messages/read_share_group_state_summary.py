"""ReadShareGroupStateSummary (key 87), v0-v1: start offsets of share-partitions and more (KIP-932, KIP-1226)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_state import UNKNOWN_COUNT


@frozen(kw_only=True)
class ReadShareStateSummaryPartition:
    """One share-partition."""

    partition: int
    leader_epoch: int


@frozen(kw_only=True)
class ReadShareStateSummaryTopic:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ReadShareStateSummaryPartition, ...] = ()


@frozen(kw_only=True)
class ReadShareGroupStateSummaryRequest:
    """Sent by the group coordinator to the share coordinator."""

    group_id: str
    topics: tuple[ReadShareStateSummaryTopic, ...] = ()


@frozen(kw_only=True)
class ReadShareStateSummaryPartitionResult:
    """Epochs and start offset of one share-partition, and how many offsets from there on are done (-1: unknown)."""

    partition: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = UNKNOWN_COUNT  # v1+


@frozen(kw_only=True)
class ReadShareStateSummaryTopicResult:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ReadShareStateSummaryPartitionResult, ...] = ()


@frozen(kw_only=True)
class ReadShareGroupStateSummaryResponse:
    """One result for each share-partition of the request."""

    results: tuple[ReadShareStateSummaryTopicResult, ...] = ()
