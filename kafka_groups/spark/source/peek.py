"""Read a record without acquiring it, to see whether the sink works when an acquired one would be at risk.

A batch that fails ends the query, and the broker archives records that were on their last delivery. So while nothing
shows that the sink works, Spark gets a copy of a record that is read as any consumer reads it, without the group. If
the sink stores it, the source acquires records again. The record itself comes later, so it may be in the sink twice.
"""

import threading
from collections.abc import Mapping
from typing import Any, Final, cast

import pyarrow as pa
from attrs import define

from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.librdkafka.partition_reader import PartitionReader, ReadRecord
from kafka_groups.net.clock import SystemClock
from kafka_groups.spark.missing_rights import explained_reading
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.source.pieces import TablePiece
from kafka_groups.types import AcknowledgeType, TopicPartition

__all__ = ["PeekedPiece", "peek"]

_ASKING_S: Final = 30.0
"""Longest wait for where the log begins and ends. Somebody answered just before, so only a busy machine needs it."""
_POLL_S: Final = 0.2


@define(eq=False, slots=False)
class PeekedPiece(TablePiece):
    """A record that is not acquired, so there is nothing to acknowledge."""

    @classmethod
    def of(cls, table: pa.Table) -> "PeekedPiece":
        """Make a piece of a table with one row."""
        return cls(table, cast("Any", None))

    def acknowledge(self, kind: AcknowledgeType) -> None:
        """Do nothing."""


def peek(
    keys: Mapping[str, object], place: TopicPartition, offset: int, timeout_s: float, *, skipped: int = 0
) -> PeekedPiece:
    """Return the first committed record that the log has from an offset on; blocks until it is read.

    Args:
        keys: The configuration of the share consumer.
        place: The partition.
        offset: The first offset to read.
        timeout_s: Longest wait for the record, once the leader has answered where the log begins and ends.
        skipped: How many offsets to skip, wrapping around at the end of the log: the skipped records may be what makes
            the sink fail.

    Raises:
        KafkaGroupsError: It was not read in time, the offset is behind the log's end, or the brokers do not allow it.
    """
    clock = SystemClock()
    failure: KafkaGroupsError | None = None
    end_ms = clock.now_ms() + round(_ASKING_S * 1_000)
    has_begun = False
    with PartitionReader(keys, f"{keys['group_id']}-peek") as reader:
        while failure is None or clock.now_ms() < end_ms:
            try:
                if not reader.assigned:
                    _begin(reader, place, offset, skipped)
                # The time for the record counts from when the log's bounds are known. Before that, the wait is for the
                # brokers.
                if not has_begun:
                    has_begun, end_ms = True, clock.now_ms() + round(timeout_s * 1_000)
                for record in reader.read(1, _POLL_S):
                    return PeekedPiece.of(_table(record))
                failure = OperationTimeoutError(
                    f"no record of {place} from offset {offset} on came within {timeout_s} s"
                )
            except KafkaGroupsError as error:
                # A leader that moves, and the like, pass. A missing right does not.
                if not error.retriable:
                    raise explained_reading(error, place.topic, keys) from error
                failure = error
                threading.Event().wait(_POLL_S)
    raise failure


def _begin(reader: PartitionReader, place: TopicPartition, offset: int, skipped: int) -> None:
    first, end = reader.bounds(place, _ASKING_S)
    begin = max(first, offset)  # retention may have deleted records since the group began there
    if skipped and end > first:
        begin = first + (begin - first + skipped) % (end - first)
    reader.assign({place: begin})


def _table(record: ReadRecord) -> pa.Table:
    row = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": None if record.timestamp_ms is None else record.timestamp_ms * 1000,
        "timestampType": int(record.is_append_time),
        "key": record.key,
        "value": record.value,
        "headers": [{"key": name, "value": value} for name, value in record.headers],
        "delivery_count": 1,
    }
    return pa.Table.from_pylist([row], RECORD_SCHEMA)
