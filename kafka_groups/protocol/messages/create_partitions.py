"""CreatePartitions (key 37), v0-v3: more partitions for topics that exist."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class CreatePartitionsAssignment:
    """Brokers of the replicas of one new partition, the preferred leader first."""

    broker_ids: tuple[int, ...] = ()


@frozen(kw_only=True)
class CreatePartitionsTopic:
    """`count` is the number of partitions afterwards; `assignments` None leaves the choice to the broker."""

    name: str
    count: int
    assignments: tuple[CreatePartitionsAssignment, ...] | None = ()


@frozen(kw_only=True)
class CreatePartitionsRequest:
    """`timeout_ms` bounds the wait for the controller; with `validate_only` nothing is created."""

    topics: tuple[CreatePartitionsTopic, ...] = ()
    timeout_ms: int
    validate_only: bool


@frozen(kw_only=True)
class CreatePartitionsTopicResult:
    """What became of one topic."""

    name: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class CreatePartitionsResponse:
    """One result for each topic of the request."""

    throttle_time_ms: int = 0
    results: tuple[CreatePartitionsTopicResult, ...] = ()
