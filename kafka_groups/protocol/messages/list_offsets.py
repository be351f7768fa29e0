"""ListOffsets (key 2), v1-v11: finds offsets by timestamp."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
"""Timestamps with a meaning of their own."""


@frozen(kw_only=True)
class ListOffsetsPartition:
    """`timestamp` is in ms since the epoch, or one of Kafka's negative values.

    They are -1 latest, -2 earliest, -3 largest timestamp (v7+), -4 earliest local (v8+), -5 latest tiered (v9+).
    """

    partition_index: int
    current_leader_epoch: int = -1  # v4+
    timestamp: int


@frozen(kw_only=True)
class ListOffsetsTopic:
    """Partitions of one topic."""

    name: str
    partitions: tuple[ListOffsetsPartition, ...] = ()


@frozen(kw_only=True)
class ListOffsetsRequest:
    """`replica_id` -1 means a consumer. With `isolation_level` 1 (read_committed), latest is the last stable offset."""

    replica_id: int = -1
    isolation_level: int = 0  # v2+
    topics: tuple[ListOffsetsTopic, ...] = ()
    timeout_ms: int = 0  # v10+


@frozen(kw_only=True)
class ListOffsetsPartitionResponse:
    """The first offset at or after the timestamp, and its record's timestamp. -1 if there is none."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1  # v4+


@frozen(kw_only=True)
class ListOffsetsTopicResponse:
    """Offsets of one topic."""

    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...] = ()


@frozen(kw_only=True)
class ListOffsetsResponse:
    """One result for each topic of the request."""

    throttle_time_ms: int = 0  # v2+
    topics: tuple[ListOffsetsTopicResponse, ...] = ()
