"""TODO list_offsets (key 2), versions 1-11."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ListOffsetsPartition:
    """TODO."""

    partition_index: int
    current_leader_epoch: int = -1  # v4+
    timestamp: int


@frozen(kw_only=True)
class ListOffsetsTopic:
    """TODO."""

    name: str
    partitions: tuple[ListOffsetsPartition, ...] = ()


@frozen(kw_only=True)
class ListOffsetsRequest:
    """TODO."""

    replica_id: int = -1
    isolation_level: int = 0  # v2+
    topics: tuple[ListOffsetsTopic, ...] = ()
    timeout_ms: int = 0  # v10+


@frozen(kw_only=True)
class ListOffsetsPartitionResponse:
    """TODO."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1  # v4+


@frozen(kw_only=True)
class ListOffsetsTopicResponse:
    """TODO."""

    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...] = ()


@frozen(kw_only=True)
class ListOffsetsResponse:
    """TODO."""

    throttle_time_ms: int = 0  # v2+
    topics: tuple[ListOffsetsTopicResponse, ...] = ()
