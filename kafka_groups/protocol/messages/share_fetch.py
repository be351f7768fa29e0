"""TODO share_fetch (key 78), versions 1-2."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch


@frozen(kw_only=True)
class FetchPartition:
    """TODO."""

    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = ()


@frozen(kw_only=True)
class FetchTopic:
    """TODO."""

    topic_id: UUID | None = None
    partitions: tuple[FetchPartition, ...] = ()


@frozen(kw_only=True)
class ForgottenTopic:
    """TODO."""

    topic_id: UUID | None = None
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class ShareFetchRequest:
    """TODO."""

    group_id: str | None = None
    member_id: str | None = None
    share_session_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int = 2147483647
    max_records: int
    batch_size: int
    share_acquire_mode: int = ignorable(0)  # v2+
    is_renew_ack: bool = False  # v2+
    topics: tuple[FetchTopic, ...] = ()
    forgotten_topics_data: tuple[ForgottenTopic, ...] = ()


@frozen(kw_only=True)
class AcquiredRecords:
    """TODO."""

    first_offset: int
    last_offset: int
    delivery_count: int


@frozen(kw_only=True)
class PartitionData:
    """TODO."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    acknowledge_error_code: ErrorCode = ErrorCode.NONE
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    records: bytes | None = None
    acquired_records: tuple[AcquiredRecords, ...] = ()


@frozen(kw_only=True)
class ShareFetchableTopicResponse:
    """TODO."""

    topic_id: UUID | None = None
    partitions: tuple[PartitionData, ...] = ()


@frozen(kw_only=True)
class ShareFetchResponse:
    """TODO."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    acquisition_lock_timeout_ms: int
    responses: tuple[ShareFetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()
