"""TODO produce (key 0), versions 3-13."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint


@frozen(kw_only=True)
class PartitionProduceData:
    """TODO."""

    index: int
    records: bytes | None = None


@frozen(kw_only=True)
class TopicProduceData:
    """TODO."""

    topic_id: UUID | None = None  # v13+
    partition_data: tuple[PartitionProduceData, ...] = ()
    name: str = ""  # v3-v12


@frozen(kw_only=True)
class ProduceRequest:
    """TODO."""

    transactional_id: str | None = None
    acks: int
    timeout_ms: int
    topic_data: tuple[TopicProduceData, ...] = ()


@frozen(kw_only=True)
class BatchIndexAndErrorMessage:
    """TODO."""

    batch_index: int
    batch_index_error_message: str | None = None


@frozen(kw_only=True)
class PartitionProduceResponse:
    """TODO."""

    index: int
    error_code: ErrorCode = ErrorCode.NONE
    base_offset: int
    log_append_time_ms: int = -1
    log_start_offset: int = -1  # v5+
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = ()  # v8+
    error_message: str | None = None  # v8+
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()  # v10+


@frozen(kw_only=True)
class TopicProduceResponse:
    """TODO."""

    topic_id: UUID | None = None  # v13+
    partition_responses: tuple[PartitionProduceResponse, ...] = ()
    name: str = ""  # v3-v12


@frozen(kw_only=True)
class ProduceResponse:
    """TODO."""

    responses: tuple[TopicProduceResponse, ...] = ()
    throttle_time_ms: int = 0
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # v10+
