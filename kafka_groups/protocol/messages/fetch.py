"""Fetch (key 1), v4-v18: reads records by offset, for consumers and followers. Sessions since v7 (KIP-227)."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint

NO_SESSION: Final = 0
"""Session id without a session."""
INITIAL_EPOCH: Final = 0
"""Epoch of a full request, which opens a fetch session."""
FINAL_EPOCH: Final = -1
"""Epoch of a full request without a session, which closes the one that it names."""
MAX_EPOCH: Final = 2**31 - 1
"""The epoch after this one is 1."""
READ_COMMITTED: Final = 1
"""Isolation level that leaves out records of open and aborted transactions."""


@frozen(kw_only=True)
class ReplicaState:
    """The fetching replica, from v15: a follower's id and broker epoch. -1 means a consumer (KIP-903)."""

    replica_id: int = -1
    replica_epoch: int = -1


@frozen(kw_only=True)
class FetchPartition:
    """The position in one partition.

    Epochs are -1 if the caller does not know them. `log_start_offset` is -1 for consumers.
    """

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
    """Partitions of one topic: by id from v13 (KIP-516), by name before."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[FetchPartition, ...] = ()
    topic: str = ""  # v4-v12


@frozen(kw_only=True)
class ForgottenTopic:
    """Partitions to remove from the fetch session."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[int, ...] = ()
    topic: str = ""  # v7-v12


@frozen(kw_only=True)
class FetchRequest:
    """Waits up to `max_wait_ms` for `min_bytes`.

    Session id 0 with epoch 0 opens a session. Epoch -1 means no session. `isolation_level` is 0 for read_uncommitted
    and 1 for read_committed.
    """

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
    """The point at which a reader's log diverges from the leader's, or -1 (KIP-595)."""

    epoch: int = -1
    end_offset: int = -1


NO_DIVERGENCE: Final = EpochEndOffset()
"""The leader's log has what the reader has."""


@frozen(kw_only=True)
class SnapshotId:
    """The snapshot to fetch instead, or -1. Only used for the metadata log (KIP-630)."""

    end_offset: int = -1
    epoch: int = -1


@frozen(kw_only=True)
class AbortedTransaction:
    """An aborted transaction. A read_committed consumer skips its records from `first_offset` on."""

    producer_id: int
    first_offset: int


@frozen(kw_only=True)
class PartitionData:
    """Records of one partition as raw batches. The first batch may start before the requested offset.

    Unknown offsets are -1. `aborted_transactions` is None for read_uncommitted.
    """

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int
    last_stable_offset: int = -1
    log_start_offset: int = -1  # v5+
    diverging_epoch: EpochEndOffset = NO_DIVERGENCE  # v12+
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()  # v12+
    snapshot_id: SnapshotId = SnapshotId()  # v12+
    aborted_transactions: tuple[AbortedTransaction, ...] | None = ()
    preferred_read_replica: int = -1  # v11+
    records: bytes | None = None


@frozen(kw_only=True)
class FetchableTopicResponse:
    """Partitions of one topic: by id from v13, by name before."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[PartitionData, ...] = ()
    topic: str = ""  # v4-v12


@frozen(kw_only=True)
class FetchResponse:
    """The partitions with changes. `session_id` 0 means that there is no session.

    Contains addresses of leaders from v16 (KIP-951).
    """

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE  # v7+
    session_id: int = 0  # v7+
    responses: tuple[FetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # v16+
