"""Ready timestamp extractors."""

from typing import Final

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.topology.records import SourceRecord

__all__ = ["KEEP_VALID", "fail_on_invalid", "skip_invalid", "use_partition_time_on_invalid", "wall_clock"]


def fail_on_invalid(record: SourceRecord, partition_time_ms: int) -> int:
    """Return the record's timestamp, and fail if it is negative. The default.

    Raises:
        StreamsError: The timestamp is negative.
    """
    del partition_time_ms
    # FailOnInvalidTimestamp.onInvalidTimestamp in Kafka.
    if record.timestamp_ms < 0:
        raise StreamsError(
            f"{record.topic}-{record.partition} offset {record.offset} has the timestamp {record.timestamp_ms}. Use "
            "another timestamp extractor, such as extractors.skip_invalid."
        )
    return record.timestamp_ms


def skip_invalid(record: SourceRecord, partition_time_ms: int) -> int:
    """Return the record's timestamp. Records whose timestamp is negative are dropped."""
    del partition_time_ms
    return record.timestamp_ms


def use_partition_time_on_invalid(record: SourceRecord, partition_time_ms: int) -> int:
    """Return the record's timestamp, or the partition's time if it is negative.

    Raises:
        StreamsError: Both are negative.
    """
    if record.timestamp_ms >= 0:
        return record.timestamp_ms
    # UsePartitionTimeOnInvalidTimestamp.onInvalidTimestamp in Kafka fails, too, as there is no time to use.
    if partition_time_ms < 0:
        raise StreamsError(
            f"{record.topic}-{record.partition} offset {record.offset} has the timestamp {record.timestamp_ms}, and "
            "no record before it had a valid one. Use another timestamp extractor, such as extractors.skip_invalid."
        )
    return partition_time_ms


def wall_clock(record: SourceRecord, partition_time_ms: int) -> int:
    """Return the wall-clock time at which the task takes the record, whatever its timestamp is."""
    del partition_time_ms
    return record.wall_ms


KEEP_VALID: Final = (fail_on_invalid, skip_invalid, use_partition_time_on_invalid)
"""The extractors that a record with a timestamp of 0 or later need not be given to: they return its timestamp."""
