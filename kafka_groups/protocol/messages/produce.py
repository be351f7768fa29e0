"""Produce (key 0), v3-v13: appends record batches. Advertised from v0, because librdkafka expects it (KIP-896)."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint

NO_ACKS: Final = 0
LEADER_ACKS: Final = 1
ALL_ACKS: Final = -1
"""Acknowledgements that a producer asks for. With none there is no response."""


@frozen(kw_only=True)
class PartitionProduceData:
    """One raw record batch for one partition. None is refused."""

    index: int
    records: bytes | None = None


@frozen(kw_only=True)
class TopicProduceData:
    """Partitions of one topic: by id from v13 (KIP-516), by name before."""

    topic_id: UUID | None = None  # v13+
    partition_data: tuple[PartitionProduceData, ...] = ()
    name: str = ""  # v3-v12


@frozen(kw_only=True)
class ProduceRequest:
    """`acks` -1 waits for the in-sync replicas, 1 for the leader. With 0 there is no response."""

    transactional_id: str | None = None
    acks: int
    timeout_ms: int
    topic_data: tuple[TopicProduceData, ...] = ()


@frozen(kw_only=True)
class BatchIndexAndErrorMessage:
    """A record that made the broker refuse its batch, by its index (KIP-467)."""

    batch_index: int
    batch_index_error_message: str | None = None


@frozen(kw_only=True)
class PartitionProduceResponse:
    """`base_offset` is -1 if there is an error. `log_append_time_ms` is -1 unless the topic uses append time."""

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
    """Partitions of one topic: by id from v13, by name before."""

    topic_id: UUID | None = None  # v13+
    partition_responses: tuple[PartitionProduceResponse, ...] = ()
    name: str = ""  # v3-v12


@frozen(kw_only=True)
class ProduceResponse:
    """One result for each topic of the request. Contains addresses of new leaders from v10 (KIP-951)."""

    responses: tuple[TopicProduceResponse, ...] = ()
    throttle_time_ms: int = 0
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # v10+
