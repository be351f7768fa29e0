"""TODO share_acknowledge (key 79), versions 1-2."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint


@frozen(kw_only=True)
class AcknowledgementBatch:
    """TODO."""

    first_offset: int
    last_offset: int
    acknowledge_types: tuple[int, ...] = ()


@frozen(kw_only=True)
class AcknowledgePartition:
    """TODO."""

    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = ()


@frozen(kw_only=True)
class AcknowledgeTopic:
    """TODO."""

    topic_id: UUID | None = None
    partitions: tuple[AcknowledgePartition, ...] = ()


@frozen(kw_only=True)
class ShareAcknowledgeRequest:
    """TODO."""

    group_id: str | None = None
    member_id: str | None = None
    share_session_epoch: int
    is_renew_ack: bool = False  # v2+
    topics: tuple[AcknowledgeTopic, ...] = ()


@frozen(kw_only=True)
class PartitionData:
    """TODO."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()


@frozen(kw_only=True)
class ShareAcknowledgeTopicResponse:
    """TODO."""

    topic_id: UUID | None = None
    partitions: tuple[PartitionData, ...] = ()


@frozen(kw_only=True)
class ShareAcknowledgeResponse:
    """TODO."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0  # v2+
    responses: tuple[ShareAcknowledgeTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()
