"""Aggregations of streams by windows that are fixed in time: tumbling, hopping, unlimited."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from attrs import define

from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams.processors.aggregate_function import AggregateFunction
from kafka_groups.streams.processors.updates import Update, updates
from kafka_groups.streams.processors.views import LookUp, TableView
from kafka_groups.streams.state.timed_rows import MAX_MS
from kafka_groups.streams.state.window_stores import WindowState
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["FixedWindows", "WindowedAggregate", "closed_windows", "window_updates", "windowed_view"]

CLOSED = "its window is closed"
NULL_KEY = "its key is null"


class FixedWindows(Protocol):
    """Windows that do not depend on records."""

    @property
    def size_ms(self) -> int:
        """The size of a window."""

    @property
    def grace_ms(self) -> int:
        """The time after its end in which a window still takes records."""

    @property
    def grid_ms(self) -> int:
        """Records between two multiples of it have the same windows."""

    def windows_for(self, timestamp_ms: int) -> Iterable[Window]:
        """Return the windows that contain a time, in the order of their starts."""


@define
class WindowedAggregate:
    """Aggregates the records of each key and window.

    Attributes:
        store: The store of the windows.
        windows: The windows.
        function: How to aggregate.
        on_close: Whether to forward each window once, when it has closed.
        send_old: Whether a child wants old values.
    """

    store: str
    windows: FixedWindows
    function: AggregateFunction
    on_close: bool = False
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        state: WindowState = node.state(self.store)
        failed, dropped = node.failed, node.dropped
        function = self.function.over(state)
        fold = function.fold
        windows_for, grace_ms, grid_ms = self.windows.windows_for, self.windows.grace_ms, self.windows.grid_ms
        update = window_updates(node, state, function, on_close=self.on_close, send_old=self.send_old)
        close = closed_windows(node, state, self.windows.size_ms) if self.on_close else None
        time = node.time()
        # Many records in a row have the same windows, which are kept: each with its start, its end, and the bytes of
        # its start in the store.
        kept_from_ms = kept_until_ms = 0
        kept: list[tuple[Window, int, int, bytes]] = []

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            nonlocal kept_from_ms, kept_until_ms, kept
            # A record without a key belongs to no group. A null value is aggregated, as by KStreamWindowAggregate in
            # Kafka; aggregations without windows and those by sliding windows drop it.
            if key is None:
                dropped(NULL_KEY)
                return
            # Late is relative to the highest time that has reached this operator, not to the task's stream time, which
            # may be ahead by other inputs (AbstractKStreamTimeWindowAggregateProcessor.updateObservedStreamTime).
            time.ms = stream_ms = timestamp_ms if timestamp_ms > time.ms else time.ms
            closed_ms = stream_ms - grace_ms
            key_bytes = state.key_bytes(key)
            if not kept_from_ms <= timestamp_ms < kept_until_ms:
                kept = [(each, *each, state.place(each.start_ms)) for each in windows_for(timestamp_ms)]
                kept_from_ms = timestamp_ms // grid_ms * grid_ms
                kept_until_ms = kept_from_ms + grid_ms
            for window, start_ms, end_ms, place in kept:
                # A hopping window that has closed does not take the record, while later windows of the same record may.
                # Ends of these windows are exclusive, so a window that ends at the close time is closed
                # (KStreamWindowAggregate.process in Kafka).
                if end_ms <= closed_ms:
                    dropped(CLOSED)
                    continue
                row = key_bytes + place
                stored = state.stored_at(start_ms, row)
                try:
                    # The result has the highest timestamp of its records, so that a late record does not make it older.
                    aggregate, newest_ms = (None, timestamp_ms) if stored is None else state.decoded(stored)
                    aggregate = fold(key, value, aggregate)
                    newest_ms = timestamp_ms if timestamp_ms > newest_ms else newest_ms
                    # A deletion is logged with the time of the record that causes it, as there is no value that would
                    # have a time (ChangeLoggingTimestampedWindowBytesStore.log in Kafka).
                    state.put_at(start_ms, row, aggregate, timestamp_ms if aggregate is None else newest_ms)
                except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                    # Windows of this record that were updated before stay updated, as in Java, where the exception
                    # leaves KStreamWindowAggregate.process.
                    failed(error, key, value, timestamp_ms, headers)
                    return
                update(row, Windowed(key, window), aggregate, stored, newest_ms, headers)
            # Every record with a key looks for closed windows, also one whose own windows are closed
            # (KStreamWindowAggregate.process in Kafka).
            if close is not None:
                close(closed_ms, headers)

        return step


def window_updates(
    node: NodeContext, state: WindowState, function: AggregateFunction, *, on_close: bool, send_old: bool
) -> Update:
    """Return the function that an operator calls after each put: it forwards the update, unless windows wait."""
    return _waiting if on_close else updates(node, state, send_old=send_old, initial=function.initial)


def _waiting(*_update: Any) -> None:
    """Forward nothing: the window has not closed."""


def closed_windows(
    node: NodeContext, state: WindowState, size_ms: int, *, is_end_included: bool = False
) -> Callable[[int, Headers], None]:
    """Return the function that forwards the windows that have closed, in order of start and key.

    It gets the time at which windows end that are just closed, and the headers to forward.

    Args:
        node: The operator's node.
        state: The store of the windows.
        size_ms: The time from the start of a window to its end.
        is_end_included: Whether a window contains its end.
    """
    forward = node.forward
    emitted = node.time(state.name)  # what had closed then was forwarded. Java commits it under the same name
    reach_ms = size_ms + is_end_included

    def close(closed_ms: int, headers: Headers) -> None:
        # Both bounds are starts of windows. What ended at or before the last close time was forwarded then
        # (KStreamWindowAggregate.emitRangeLowerBound and emitRangeUpperBound in Kafka). Java looks at most once a
        # second of wall-clock time (AbstractKStreamTimeWindowAggregateProcessor.shouldEmitFinal); here every record
        # looks, so that results depend on records alone.
        first_ms, last_ms = max(emitted.ms - reach_ms + 1, 0), closed_ms - reach_ms
        if last_ms < first_ms:
            return
        emitted.ms = closed_ms
        for each in state.started(first_ms, last_ms):
            value, timestamp_ms = state.decoded(each.stored)
            window = Window(each.start_ms, min(each.start_ms + size_ms, MAX_MS))
            # A final result has no old value: nothing was forwarded for this window before
            # (AbstractKStreamTimeWindowAggregateProcessor.fetchAndEmit).
            forward(Windowed(state.key(each.key), window), value, None, timestamp_ms, headers)

    return close


def windowed_view(store: str) -> TableView:
    """Return the view of a table whose keys are windowed."""

    def opened(node: NodeContext) -> LookUp:
        state: WindowState = node.state(store)

        def look_up(key: Windowed[Any]) -> tuple[Any, int] | None:
            stored = state.stored(state.row(state.key_bytes(key.key), key.window.start_ms))
            return None if stored is None else state.decoded(stored)

        return look_up

    return TableView((store,), opened)
