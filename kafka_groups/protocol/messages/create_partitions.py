"""TODO create_partitions (key 37), versions 0-3."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class CreatePartitionsAssignment:
    """TODO."""

    broker_ids: tuple[int, ...] = ()


@frozen(kw_only=True)
class CreatePartitionsTopic:
    """TODO."""

    name: str
    count: int
    assignments: tuple[CreatePartitionsAssignment, ...] | None = ()


@frozen(kw_only=True)
class CreatePartitionsRequest:
    """TODO."""

    topics: tuple[CreatePartitionsTopic, ...] = ()
    timeout_ms: int
    validate_only: bool


@frozen(kw_only=True)
class CreatePartitionsTopicResult:
    """TODO."""

    name: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class CreatePartitionsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    results: tuple[CreatePartitionsTopicResult, ...] = ()
