"""Metadata (key 3), v0-v13: returns brokers, topics, partitions and their leaders."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class MetadataRequestTopic:
    """One topic by name, or by id if the name is None (v10+; KIP-516)."""

    topic_id: UUID | None = None  # v10+
    name: str | None = None


@frozen(kw_only=True)
class MetadataRequest:
    """From v1, `topics` of None means all topics and empty means none. In v0, empty means all."""

    topics: tuple[MetadataRequestTopic, ...] | None = ()
    allow_auto_topic_creation: bool = True  # v4+
    include_topic_authorized_operations: bool = False  # v8+
    include_cluster_authorized_operations: bool = False  # v8-v10


@frozen(kw_only=True)
class MetadataResponseBroker:
    """Address of one running broker on the requested listener."""

    node_id: int
    host: str
    port: int
    rack: str | None = None  # v1+


@frozen(kw_only=True)
class MetadataResponsePartition:
    """One partition. `leader_id` is -1 without a leader. `leader_epoch` is -1 if not included."""

    error_code: ErrorCode = ErrorCode.NONE
    partition_index: int
    leader_id: int
    leader_epoch: int = -1  # v7+
    replica_nodes: tuple[int, ...] = ()
    isr_nodes: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()  # v5+


@frozen(kw_only=True)
class MetadataResponseTopic:
    """One topic. The name is None if the request used an unknown id (v12+)."""

    error_code: ErrorCode = ErrorCode.NONE
    name: str | None = None
    topic_id: UUID | None = None  # v10+
    is_internal: bool = False  # v1+
    partitions: tuple[MetadataResponsePartition, ...] = ()
    topic_authorized_operations: int = -2147483648  # v8+


@frozen(kw_only=True)
class MetadataResponse:
    """`controller_id` is a random broker if controllers are separate, or -1 if there is none.

    -2147483648 means that authorized operations were not requested.
    """

    throttle_time_ms: int = 0  # v3+
    brokers: tuple[MetadataResponseBroker, ...] = ()
    cluster_id: str | None = None  # v2+
    controller_id: int = -1  # v1+
    topics: tuple[MetadataResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE  # v13+
    cluster_authorized_operations: int = -2147483648  # v8-v10
