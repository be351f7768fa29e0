"""TODO create_topics (key 19), versions 2-7."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class CreatableReplicaAssignment:
    """TODO."""

    partition_index: int
    broker_ids: tuple[int, ...] = ()


@frozen(kw_only=True)
class CreatableTopicConfig:
    """TODO."""

    name: str
    value: str | None = None


@frozen(kw_only=True)
class CreatableTopic:
    """TODO."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[CreatableReplicaAssignment, ...] = ()
    configs: tuple[CreatableTopicConfig, ...] = ()


@frozen(kw_only=True)
class CreateTopicsRequest:
    """TODO."""

    topics: tuple[CreatableTopic, ...] = ()
    timeout_ms: int = 60000
    validate_only: bool = False


@frozen(kw_only=True)
class CreatableTopicConfigs:
    """TODO."""

    name: str
    value: str | None = None
    read_only: bool
    config_source: int = -1
    is_sensitive: bool


@frozen(kw_only=True)
class CreatableTopicResult:
    """TODO."""

    name: str
    topic_id: UUID | None = None  # v7+
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    topic_config_error_code: ErrorCode = ErrorCode.NONE  # v5+
    num_partitions: int = -1  # v5+
    replication_factor: int = -1  # v5+
    configs: tuple[CreatableTopicConfigs, ...] | None = ()  # v5+


@frozen(kw_only=True)
class CreateTopicsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    topics: tuple[CreatableTopicResult, ...] = ()
