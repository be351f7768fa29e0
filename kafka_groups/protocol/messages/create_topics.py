"""CreateTopics (key 19), v2-v7: creates topics with their partitions and configs."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

BROKER_DEFAULT: Final = -1
"""Number of partitions or replicas that means the broker's default."""


@frozen(kw_only=True)
class CreatableReplicaAssignment:
    """Brokers with the replicas of one partition. The preferred leader is first."""

    partition_index: int
    broker_ids: tuple[int, ...] = ()


@frozen(kw_only=True)
class CreatableTopicConfig:
    """A config of the new topic. A value of None means the default."""

    name: str
    value: str | None = None


@frozen(kw_only=True)
class CreatableTopic:
    """Number of partitions and replicas. -1 means the broker's default (v4+), and is required with `assignments`."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[CreatableReplicaAssignment, ...] = ()
    configs: tuple[CreatableTopicConfig, ...] = ()


@frozen(kw_only=True)
class CreateTopicsRequest:
    """`timeout_ms` limits the wait for the controller. With `validate_only` nothing is created."""

    topics: tuple[CreatableTopic, ...] = ()
    timeout_ms: int = 60000
    validate_only: bool = False


@frozen(kw_only=True)
class CreatableTopicConfigs:
    """An effective config. `config_source` is the level it comes from, or -1 if unknown."""

    name: str
    value: str | None = None
    read_only: bool
    config_source: int = -1
    is_sensitive: bool


@frozen(kw_only=True)
class CreatableTopicResult:
    """The result for one topic (KIP-525). `configs` is None if the caller may not read them."""

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
    """One result for each topic of the request."""

    throttle_time_ms: int = 0
    topics: tuple[CreatableTopicResult, ...] = ()
