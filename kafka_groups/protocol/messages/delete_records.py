"""DeleteRecords (key 21), v0-v2: deletes the records before an offset by moving the log start."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteRecordsPartition:
    """Delete records before `offset`. -1 means all records up to the high watermark."""

    partition_index: int
    offset: int


@frozen(kw_only=True)
class DeleteRecordsTopic:
    """Partitions of one topic."""

    name: str
    partitions: tuple[DeleteRecordsPartition, ...] = ()


@frozen(kw_only=True)
class DeleteRecordsRequest:
    """`timeout_ms` limits the wait for the replicas."""

    topics: tuple[DeleteRecordsTopic, ...] = ()
    timeout_ms: int


@frozen(kw_only=True)
class DeleteRecordsPartitionResult:
    """`low_watermark` is the new log start offset, or -1 if there is an error."""

    partition_index: int
    low_watermark: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class DeleteRecordsTopicResult:
    """Results of one topic."""

    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...] = ()


@frozen(kw_only=True)
class DeleteRecordsResponse:
    """One result for each topic of the request."""

    throttle_time_ms: int = 0
    topics: tuple[DeleteRecordsTopicResult, ...] = ()
