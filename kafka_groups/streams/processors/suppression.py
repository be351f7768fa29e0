"""The operator that holds updates of a table back: for a time, until windows close, or until too many wait."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.errors.texts import counted
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.views import LookUp, TableView
from kafka_groups.streams.state.suppress_buffer import SuppressBuffer
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["Suppress", "suppressed_view"]

_UNKNOWN_MS = -1


@frozen(kw_only=True)
class Suppress:
    """Forwards the last update of each key when its turn comes.

    Attributes:
        store: The buffer.
        wait_ms: How long an update waits, by the times of the records that reach the node.
        is_until_close: Whether it waits from the end of its key's window on, and not from its own time.
        max_records: The most updates that may wait.
        max_bytes: The most bytes that they may have.
        fails_when_full: Whether more are an error. Otherwise the first ones come out early.
    """

    store: str
    wait_ms: int
    is_until_close: bool
    max_records: int | None
    max_bytes: int | None
    fails_when_full: bool
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        buffer: SuppressBuffer = node.state(self.store)
        failed, emit, is_full = node.failed, self._emitting(node, buffer), self._fullness(buffer)
        wait_ms, is_until_close = self.wait_ms, self.is_until_close
        time = node.time()

        def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
            # Like Java's KTableSuppressProcessor, the node has a time of its own: the highest that has reached it.
            time.ms = stream_ms = max(time.ms, timestamp_ms)
            try:
                # The two definitions of time in Kafka's TimeDefinitions: the end of the key's window with
                # until_window_closes, and the time of the record with a time limit. In the first case the update then
                # waits for the grace.
                due_ms = key.window.end_ms if is_until_close else timestamp_ms
                buffer.put(buffer.key_bytes(key), new, old, timestamp_ms, headers, due_ms=due_ms)
            except Exception as error:  # a serde of the user's may raise anything: the handler decides
                failed(error, key, new, timestamp_ms, headers)
                return
            # All updates whose time has come are forwarded, earliest first, before the limits are looked at
            # (KTableSuppressProcessor.enforceConstraints).
            while (first_ms := buffer.first_ms) is not None and first_ms <= stream_ms - wait_ms:
                emit()
            while is_full():
                # Final results must not come out early, so a full buffer of those ends the worker
                # (BufferFullStrategy.SHUT_DOWN in Kafka). With a time limit, the first updates come out early (EMIT),
                # unless the program wants an error there, too.
                if self.fails_when_full:
                    raise self._full(node, buffer)
                emit()

        return step

    def _emitting(self, node: NodeContext, buffer: SuppressBuffer) -> Callable[[], None]:
        """Return the function that forwards the next update, with the context of the record that made it."""
        forward, record, is_until_close = node.forward, node.record, self.is_until_close

        def emit() -> None:
            key, update = buffer.take()
            # Tombstones of windows are dropped (SuppressedInternal.safeToDropTombstones in Kafka); with a time limit
            # they are forwarded, because the row may have been forwarded before.
            if update.new is None and is_until_close:
                return  # this window was never forwarded: a session that became part of another one
            current = record.topic, record.partition, record.offset
            record.topic, record.partition, record.offset = update.topic, update.partition, update.offset
            # As in Java, children receive the old value of the last update, not the value that they received last.
            new, old = buffer.value(update.new), buffer.value(update.old)
            forward(buffer.key(key), new, old, update.timestamp_ms, update.headers)
            record.topic, record.partition, record.offset = current

        return emit

    def _fullness(self, buffer: SuppressBuffer) -> Callable[[], bool]:
        max_records, max_bytes = self.max_records, self.max_bytes

        def is_full() -> bool:
            has_too_many = max_records is not None and len(buffer) > max_records
            return has_too_many or (max_bytes is not None and buffer.size_bytes > max_bytes)

        return is_full

    def _full(self, node: NodeContext, buffer: SuppressBuffer) -> StreamsError:
        limits = [("max_records", self.max_records), ("max_bytes", self.max_bytes)]
        given = " and ".join(f"{name}={limit}" for name, limit in limits if limit is not None)
        waiting = f"{counted(len(buffer), 'update')} with {counted(buffer.size_bytes, 'byte')}"
        return StreamsError(
            f"The buffer of {node.name} is full: it holds {waiting}, and {given}. Raise the limit, or let updates "
            "come out early: Suppressed.until_time_limit(…)."
        )


def suppressed_view(parent: TableView, store: str) -> TableView:
    """Return the view of a suppressed table: rows as they were before the updates that wait.

    As in Java, the time of a row whose update waits is unknown.

    Args:
        parent: The table whose updates are held back.
        store: The buffer.
    """

    def opened(node: NodeContext) -> LookUp:
        look_up, buffer = parent.open(node), node.state(store)

        def told(key: Any) -> tuple[Any, int] | None:
            update = buffer.get(buffer.key_bytes(key))
            if update is None:
                return look_up(key)
            # What waits has not been seen below, so the row is what it was before (KTableSuppressProcessorSupplier.view
            # in Kafka).
            return None if update.prior is None else (buffer.value(update.prior), _UNKNOWN_MS)

        return told

    return TableView((store, *parent.stores), opened)
