"""TODO fetch (key 1), versions 4-18."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint


@frozen(kw_only=True)
class ReplicaState:
    """TODO."""

    replica_id: int = -1
    replica_epoch: int = -1


@frozen(kw_only=True)
class FetchPartition:
    """TODO."""

    partition: int
    current_leader_epoch: int = -1  # v9+
    fetch_offset: int
    last_fetched_epoch: int = -1  # v12+
    log_start_offset: int = -1  # v5+
    partition_max_bytes: int
    replica_directory_id: UUID | None = None  # v17+
    high_watermark: int = 9223372036854775807  # v18+


@frozen(kw_only=True)
class FetchTopic:
    """TODO."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[FetchPartition, ...] = ()
    topic: str = ""  # v4-v12


@frozen(kw_only=True)
class ForgottenTopic:
    """TODO."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[int, ...] = ()
    topic: str = ""  # v7-v12


@frozen(kw_only=True)
class FetchRequest:
    """TODO."""

    cluster_id: str | None = None  # v12+
    replica_state: ReplicaState = ReplicaState()  # v15+
    max_wait_ms: int
    min_bytes: int
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0  # v7+
    session_epoch: int = -1  # v7+
    topics: tuple[FetchTopic, ...] = ()
    forgotten_topics_data: tuple[ForgottenTopic, ...] = ()  # v7+
    rack_id: str = ""  # v11+
    replica_id: int = -1  # v4-v14


@frozen(kw_only=True)
class EpochEndOffset:
    """TODO."""

    epoch: int = -1
    end_offset: int = -1


@frozen(kw_only=True)
class SnapshotId:
    """TODO."""

    end_offset: int = -1
    epoch: int = -1


@frozen(kw_only=True)
class AbortedTransaction:
    """TODO."""

    producer_id: int
    first_offset: int


@frozen(kw_only=True)
class PartitionData:
    """TODO."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int
    last_stable_offset: int = -1
    log_start_offset: int = -1  # v5+
    diverging_epoch: EpochEndOffset = EpochEndOffset()  # v12+
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()  # v12+
    snapshot_id: SnapshotId = SnapshotId()  # v12+
    aborted_transactions: tuple[AbortedTransaction, ...] | None = ()
    preferred_read_replica: int = -1  # v11+
    records: bytes | None = None


@frozen(kw_only=True)
class FetchableTopicResponse:
    """TODO."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[PartitionData, ...] = ()
    topic: str = ""  # v4-v12


@frozen(kw_only=True)
class FetchResponse:
    """TODO."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE  # v7+
    session_id: int = 0  # v7+
    responses: tuple[FetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # v16+
