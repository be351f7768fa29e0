"""ShareAcknowledge (key 79), v1-v2: acknowledges without a fetch (KIP-932). Renewal since v2 (KIP-1222)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint


@frozen(kw_only=True)
class AcknowledgementBatch:
    """Offsets from first to last, both included.

    There is one type for all of them, or one for each offset (`kafka_groups.types.AcknowledgeType`).
    """

    first_offset: int
    last_offset: int
    acknowledge_types: tuple[int, ...] = ()


@frozen(kw_only=True)
class AcknowledgePartition:
    """Batches of one partition, sorted by offset. All are applied, or none."""

    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = ()


@frozen(kw_only=True)
class AcknowledgeTopic:
    """Partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[AcknowledgePartition, ...] = ()


@frozen(kw_only=True)
class ShareAcknowledgeRequest:
    """`share_session_epoch` is the epoch of an open session, or -1 to close it after the acknowledgements.

    The type RENEW is only valid with `is_renew_ack`.
    """

    group_id: str | None = None
    member_id: str | None = None
    share_session_epoch: int
    is_renew_ack: bool = False  # v2+
    topics: tuple[AcknowledgeTopic, ...] = ()


@frozen(kw_only=True)
class ShareAcknowledgePartitionData:
    """The result of one partition's acknowledgements: INVALID_RECORD_STATE if a lock was lost."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()


@frozen(kw_only=True)
class ShareAcknowledgeTopicResponse:
    """Partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ShareAcknowledgePartitionData, ...] = ()


@frozen(kw_only=True)
class ShareAcknowledgeResponse:
    """The error applies to the session or the request.

    `acquisition_lock_timeout_ms` is the group's lock duration (v2+).
    """

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0  # v2+
    responses: tuple[ShareAcknowledgeTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()
