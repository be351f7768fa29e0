"""Aggregations of streams by sessions."""

from collections.abc import Callable
from typing import Any

from attrs import define

from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams.processors.aggregate_function import AggregateFunction
from kafka_groups.streams.processors.views import LookUp, TableView
from kafka_groups.streams.processors.windowed import CLOSED, NULL_KEY
from kafka_groups.streams.state.session_stores import SessionState, StoredSession
from kafka_groups.streams.state.update_cache import Held
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["Merger", "SessionAggregate", "session_view"]

Merger = Callable[[Any, Any, Any], Any]
"""Gets a key and two aggregates of its sessions, and returns that of both."""

SessionUpdate = Callable[[bytes, Any, Any, bytes | None, Headers], None]
"""`(row, key, new, stored, headers)`, where `stored` is what the store had before."""


@define
class SessionAggregate:
    """Aggregates the records of each key and session. A record may join sessions to one.

    Attributes:
        store: The store of the sessions.
        gap_ms: The longest time between two records of a session.
        grace_ms: How long a session still takes records after that time.
        function: How to aggregate.
        merger: Joins the aggregates of two sessions; the first may be None if nothing was aggregated.
        on_close: Whether to forward each session once, when it has closed.
        send_old: Whether a child wants old values.
    """

    store: str
    gap_ms: int
    grace_ms: int
    function: AggregateFunction
    merger: Merger
    on_close: bool = False
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        state, failed, dropped = node.state(self.store), node.failed, node.dropped
        gap_ms, closes_ms = self.gap_ms, self.gap_ms + self.grace_ms
        update = _waiting if self.on_close else _updates(node, state, send_old=self.send_old)
        close = _closed_sessions(node, state) if self.on_close else None
        merged, time = self._merging(state), node.time()

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # Only the key decides, as in KStreamSessionWindowAggregate.process in Kafka: null values are aggregated.
            if key is None:
                dropped(NULL_KEY)
                return
            time.ms = stream_ms = max(time.ms, timestamp_ms)
            # A session is closed when a record could no longer extend it: after the gap, and the grace on top.
            closed_ms = stream_ms - closes_ms
            key_bytes = state.key_bytes(key)
            # The record extends every session of its key that is not further away than the gap, before or after it.
            found = state.find(key_bytes, timestamp_ms - gap_ms, timestamp_ms + gap_ms)
            window = _united(found, timestamp_ms)
            # The end of the united session decides, and not the record's own time: a late record that connects to an
            # open session is taken. Ends of sessions are inclusive, hence `<` where fixed windows have `<=`.
            if window.end_ms < closed_ms:
                dropped(CLOSED)
            else:
                row = state.row(key_bytes, window)
                stored = state.stored(row)
                try:
                    # The user's functions run before anything changes, so that a record that a handler skips leaves the
                    # sessions as they were. Java has removed them by then (KStreamSessionWindowAggregate.process).
                    aggregate = merged(key, value, found)
                    state.put(row, aggregate, timestamp_ms)
                except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                    failed(error, key, value, timestamp_ms, headers)
                    return
                # As in Java, sessions are removed before a longer one comes, and one of a single time stays.
                removed = found if window.start_ms < window.end_ms else ()
                for each in removed:
                    # The put above has replaced a session with the same times already. Java removes all of them first,
                    # and puts afterwards.
                    if each.row != row:
                        state.remove(each.row, timestamp_ms)
                    update(each.row, Windowed(key, each.window), None, each.stored, headers)
                update(row, Windowed(key, window), aggregate, None if removed else stored, headers)
            if close is not None:
                close(closed_ms, headers)

        return step

    def _merging(self, state: SessionState) -> Callable[[Any, Any, list[StoredSession]], Any]:
        """Return the function that joins the aggregates of sessions and adds a value."""
        function, merger = self.function.over(state), self.merger

        def merged(key: Any, value: Any, found: list[StoredSession]) -> Any:
            aggregate = function.initial()
            # The merger runs before the aggregator, from an initial value on, and for a single session, too
            # (KStreamSessionWindowAggregate.process).
            for each in found:
                aggregate = merger(key, aggregate, state.value(each.stored))
            return function.fold(key, value, aggregate)

        return merged


def _united(found: list[StoredSession], timestamp_ms: int) -> Window:
    """Return the window of a record and the sessions that it joins."""
    first_ms = last_ms = timestamp_ms
    for each in found:
        start_ms, end_ms = each.window
        first_ms, last_ms = min(first_ms, start_ms), max(last_ms, end_ms)
    return Window(first_ms, last_ms)


def _waiting(*_update: Any) -> None:
    """Forward nothing: the session has not closed."""


def _updates(node: NodeContext, state: SessionState, *, send_old: bool) -> SessionUpdate:
    """Return the function that the operator calls after each put. Results have the end of their session as time.

    As in Java, only results that were held back have headers, and those that are emitted on close.
    """
    forward, held = node.forward, state.held

    def tell(key: Any, new: Any, stored: bytes | None, headers: Headers) -> None:
        forward(key, new, state.value(stored) if send_old else None, key.window.end_ms, headers)

    def flushed(row: bytes, each: Held) -> None:
        found = state.get(row)
        # The session came and went between two flushes, so children never knew of it.
        if found is None and each.stored is None:
            state.forget(row)
            return
        tell(each.key, None if found is None else found[0], each.stored, each.headers)

    def hold(row: bytes, key: Any, _new: Any, stored: bytes | None, headers: Headers) -> None:
        held.hold(row, key, stored, headers)

    def update(_row: bytes, key: Any, new: Any, stored: bytes | None, _headers: Headers) -> None:
        # As in Java, a new session is forwarded without an old value, even if it replaces one with the same times.
        tell(key, new, stored if new is None else None, ())

    held.forward = flushed
    return hold if state.is_caching else update


def _closed_sessions(node: NodeContext, state: SessionState) -> Callable[[int, Headers], None]:
    """Return the function that forwards the sessions that ended before a time, in order of end and key."""
    forward = node.forward
    emitted = node.time(state.name)  # what had closed then was forwarded. Java commits it under the same name

    def close(closed_ms: int, headers: Headers) -> None:
        # Bounds are ends of sessions here. A session that ends at the last close time was still open then, because ends
        # are inclusive (KStreamSessionWindowAggregate.emitRangeLowerBound and emitRangeUpperBound).
        first_ms = max(emitted.ms, 0)
        if closed_ms <= first_ms:
            return
        emitted.ms = closed_ms
        for each in state.ended(first_ms, closed_ms - 1):
            key = Windowed(state.key(each.key), each.window)
            forward(key, state.value(each.stored), None, each.window.end_ms, headers)

    return close


def session_view(store: str) -> TableView:
    """Return the view of a table whose keys are sessions."""

    def opened(node: NodeContext) -> LookUp:
        state: SessionState = node.state(store)

        def look_up(key: Windowed[Any]) -> tuple[Any, int] | None:
            stored = state.stored(state.row(state.key_bytes(key.key), key.window))
            return None if stored is None else (state.value(stored), key.window.end_ms)

        return look_up

    return TableView((store,), opened)
