"""Joins of streams with versioned tables that wait for rows that arrive late (KIP-923)."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.streams.processors.lookup_joins import StreamTableJoin
from kafka_groups.streams.state.join_buffer import JoinBuffer, WaitingRecord
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["WaitingJoin"]


@frozen
class WaitingJoin:
    """Joins each record when its time is a grace behind that of the stream.

    Attributes:
        join: Joins a record.
        buffer: The store of the records that wait.
        grace_ms: How long they wait, by the times of the stream's records.
    """

    join: StreamTableJoin
    buffer: str
    grace_ms: int
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        buffer: JoinBuffer = node.state(self.buffer)
        join, grace_ms = self.join.open(node), self.grace_ms
        failed, emit = node.failed, _emitting(node, join)
        add, take = buffer.add, buffer.take

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # What cannot find a row is decided at once: dropped, or in a left join with a null key, joined with None.
            # Java's left join ends the thread then (RocksDBTimeOrderedKeyValueBuffer.put).
            is_joined_now = key is None or value is None
            # So is a record that is late itself. It does not look for others that are due (KStreamKTableJoinProcessor).
            if is_joined_now or timestamp_ms < buffer.time_ms - grace_ms:
                join(key, value, timestamp_ms, headers)
                return
            try:
                add(key, value, timestamp_ms, headers)
            except Exception as error:  # a serde of the user's may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            take(buffer.time_ms - grace_ms, emit)

        return step


def _emitting(node: NodeContext, join: NodeStep) -> Callable[[WaitingRecord], None]:
    """Return the function that joins a record that has waited, with the context that it had."""
    record = node.record

    def emit(waiting: WaitingRecord) -> None:
        update = waiting.update
        current = record.topic, record.partition, record.offset
        record.topic, record.partition, record.offset = update.topic, update.partition, update.offset
        join(waiting.key, waiting.value, update.timestamp_ms, update.headers)
        record.topic, record.partition, record.offset = current

    return emit
