"""Read a record without acquiring it, to see whether the sink works when an acquired one would be at risk.

A batch that fails ends the query, and the broker archives records that were on their last delivery. So while nothing
shows that the sink works, Spark gets a copy of a record that is read as any consumer reads it, without the group. If
the sink stores it, the source acquires records again. The record itself comes later, so it may be in the sink twice.
"""

from collections.abc import Mapping
from typing import Any, cast

import pyarrow as pa
from attrs import define
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from kafka_groups.data_plane.configuration import producer_config
from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.source.pieces import TablePiece
from kafka_groups.types import AcknowledgeType, TopicPartition

__all__ = ["PeekedPiece", "peek"]

_OF_PRODUCERS = ("acks", "enable.idempotence", "linger.ms")
_POLL_S = 0.2


@define(eq=False, slots=False)
class PeekedPiece(TablePiece):
    """A record that is not acquired, so there is nothing to acknowledge."""

    @classmethod
    def of(cls, table: pa.Table) -> "PeekedPiece":
        """Make a piece of a table with one row."""
        return cls(table, cast("Any", None))

    def acknowledge(self, kind: AcknowledgeType) -> None:
        """Do nothing."""


def peek(keys: Mapping[str, object], place: TopicPartition, offset: int, timeout_s: float) -> PeekedPiece:
    """Return the first committed record from an offset on; blocks until it has come.

    Args:
        keys: The configuration of the share consumer.
        place: The partition.
        offset: Where to begin.
        timeout_s: Longest wait.

    Raises:
        KafkaGroupsError: It did not come in time, or the brokers do not allow it.
    """
    shared = {name: value for name, value in producer_config(keys).items() if name not in _OF_PRODUCERS}
    own = {"group.id": f"{keys['group_id']}-peek", "enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer = Consumer({**shared, **own})
    try:
        consumer.assign([Place(place.topic, place.partition, offset)])
        for _ in range(max(1, round(timeout_s / _POLL_S))):
            message = consumer.poll(_POLL_S)
            if message is not None:
                return PeekedPiece.of(_table(message))
    except KafkaException as error:
        raise KafkaGroupsError(f"{place} cannot be read from offset {offset} on: {error}") from error
    finally:
        consumer.close()
    raise OperationTimeoutError(f"no record of {place} from offset {offset} on came within {timeout_s} s")


def _table(message: Message) -> pa.Table:
    if (error := message.error()) is not None:
        raise KafkaException(error)
    kind, timestamp_ms = message.timestamp()
    row = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms * 1000,
        "timestampType": int(kind == TIMESTAMP_LOG_APPEND_TIME),
        "key": message.key(),
        "value": message.value(),
        "headers": [{"key": name, "value": value} for name, value in cast("list[Any]", message.headers() or [])],
        "delivery_count": 1,
    }
    return pa.Table.from_pylist([row], RECORD_SCHEMA)
