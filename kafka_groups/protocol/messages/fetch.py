"""Fetch (key 1), v4-v18: records by offset, as consumers and followers read them; sessions since v7 (KIP-227)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint


@frozen(kw_only=True)
class ReplicaState:
    """Who fetches from v15 on: a follower's id and broker epoch; -1 is a consumer (KIP-903)."""

    replica_id: int = -1
    replica_epoch: int = -1


@frozen(kw_only=True)
class FetchPartition:
    """Where to read one partition.

    Epochs are -1 when the caller does not know them, `log_start_offset` for consumers.
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
    """Partitions of one topic: by id from v13 on (KIP-516), by name before."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[FetchPartition, ...] = ()
    topic: str = ""  # v4-v12


@frozen(kw_only=True)
class ForgottenTopic:
    """Partitions that leave the fetch session."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[int, ...] = ()
    topic: str = ""  # v7-v12


@frozen(kw_only=True)
class FetchRequest:
    """Waits up to `max_wait_ms` for `min_bytes`.

    Session id 0 with epoch 0 opens a session, epoch -1 does without one; `isolation_level` is 0 for
    read_uncommitted, 1 for read_committed.
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
    """Where a follower's log parts from the leader's; -1 means that it does not (KIP-595)."""

    epoch: int = -1
    end_offset: int = -1


@frozen(kw_only=True)
class SnapshotId:
    """The snapshot to fetch instead; -1 means none, as for all but the metadata log (KIP-630)."""

    end_offset: int = -1
    epoch: int = -1


@frozen(kw_only=True)
class AbortedTransaction:
    """A transaction whose records, from `first_offset` on, a read_committed consumer leaves out."""

    producer_id: int
    first_offset: int


@frozen(kw_only=True)
class PartitionData:
    """Records of one partition, as raw batches of which the first may begin before the offset asked for.

    Offsets that are not known are -1, `aborted_transactions` is None for read_uncommitted.
    """

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
    """Partitions of one topic: by id from v13 on, by name before."""

    topic_id: UUID | None = None  # v13+
    partitions: tuple[PartitionData, ...] = ()
    topic: str = ""  # v4-v12


@frozen(kw_only=True)
class FetchResponse:
    """The partitions that have news; `session_id` 0 means that there is no session.

    Addresses of leaders from v16 on (KIP-951).
    """

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE  # v7+
    session_id: int = 0  # v7+
    responses: tuple[FetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # v16+
