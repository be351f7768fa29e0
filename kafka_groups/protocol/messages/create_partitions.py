"""CreatePartitions (key 37), v0-v3: adds partitions to existing topics."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class CreatePartitionsAssignment:
    """Brokers with the replicas of one new partition. The preferred leader is first."""

    broker_ids: tuple[int, ...] = ()


@frozen(kw_only=True)
class CreatePartitionsTopic:
    """`count` is the new number of partitions. If `assignments` is None, the broker chooses."""

    name: str
    count: int
    assignments: tuple[CreatePartitionsAssignment, ...] | None = ()


@frozen(kw_only=True)
class CreatePartitionsRequest:
    """`timeout_ms` limits the wait for the controller. With `validate_only` nothing is created."""

    topics: tuple[CreatePartitionsTopic, ...] = ()
    timeout_ms: int
    validate_only: bool


@frozen(kw_only=True)
class CreatePartitionsTopicResult:
    """The result for one topic."""

    name: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class CreatePartitionsResponse:
    """One result for each topic of the request."""

    throttle_time_ms: int = 0
    results: tuple[CreatePartitionsTopicResult, ...] = ()
