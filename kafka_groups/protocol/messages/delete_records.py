"""TODO delete_records (key 21), versions 0-2."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteRecordsPartition:
    """TODO."""

    partition_index: int
    offset: int


@frozen(kw_only=True)
class DeleteRecordsTopic:
    """TODO."""

    name: str
    partitions: tuple[DeleteRecordsPartition, ...] = ()


@frozen(kw_only=True)
class DeleteRecordsRequest:
    """TODO."""

    topics: tuple[DeleteRecordsTopic, ...] = ()
    timeout_ms: int


@frozen(kw_only=True)
class DeleteRecordsPartitionResult:
    """TODO."""

    partition_index: int
    low_watermark: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class DeleteRecordsTopicResult:
    """TODO."""

    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...] = ()


@frozen(kw_only=True)
class DeleteRecordsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    topics: tuple[DeleteRecordsTopicResult, ...] = ()
