"""Aggregations of streams by sliding windows (KIP-450)."""

from typing import Any

from attrs import define

from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams.processors.aggregate_function import AggregateFunction
from kafka_groups.streams.processors.updates import Update
from kafka_groups.streams.processors.windowed import CLOSED, closed_windows, window_updates
from kafka_groups.streams.state.window_stores import StoredWindow, WindowState
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["SlidingAggregate"]

Base = tuple[int, bytes | None]
"""A window to update: its start, and what its aggregate begins with, as a store has it."""


@define
class SlidingAggregate:
    """Aggregates the records of each key and sliding window.

    Attributes:
        store: The store of the windows.
        difference_ms: The time from the start of a window to its end, both included.
        grace_ms: How long after its end a window still takes records.
        function: How to aggregate.
        on_close: Whether to forward each window once, when it has closed.
        send_old: Whether a child wants old values.
    """

    store: str
    difference_ms: int
    grace_ms: int
    function: AggregateFunction
    on_close: bool = False
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        state, failed, dropped = node.state(self.store), node.failed, node.dropped
        function = self.function.over(state)
        fold = function.fold
        difference_ms, grace_ms = self.difference_ms, self.grace_ms
        update = window_updates(node, state, function, on_close=self.on_close, send_old=self.send_old)
        is_direct = not (self.on_close or state.is_caching)
        update_right = _told_as_new(node) if is_direct else update
        close = closed_windows(node, state, difference_ms, is_end_included=True) if self.on_close else None
        time = node.time()

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # KStreamSlidingWindowAggregate drops null values, unlike the aggregations by other windows.
            if key is None or value is None:
                dropped("its key or value is null")
                return
            time.ms = stream_ms = max(time.ms, timestamp_ms)
            closed_ms = stream_ms - grace_ms
            # As in Java, a record is dropped with the window that begins with it. The window after it might still be
            # open for a millisecond, but only later records are in that one.
            if timestamp_ms + difference_ms < closed_ms:
                dropped(CLOSED)
                return
            key_bytes = state.key_bytes(key)
            for start_ms, base in _windows(state, key_bytes, timestamp_ms, difference_ms):
                # The record itself is in time, but a window that ends with or before it may have closed
                # (KStreamSlidingWindowAggregate.updateWindowAndForward). Ends are inclusive.
                if start_ms + difference_ms < closed_ms:
                    dropped(CLOSED)
                    continue
                row = state.row(key_bytes, start_ms)
                stored = state.stored(row)
                try:
                    aggregate, newest_ms = (None, timestamp_ms) if base is None else state.decoded(base)
                    # The right window of the record begins just after it: it takes over what an overlapping window has,
                    # and not this record (KStreamSlidingWindowAggregate.createCurrentRecordRightWindow).
                    if start_ms <= timestamp_ms:
                        aggregate = fold(key, value, aggregate)
                        newest_ms = max(timestamp_ms, newest_ms)
                    state.put(row, aggregate, timestamp_ms if aggregate is None else newest_ms)
                except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                    failed(error, key, value, timestamp_ms, headers)
                    return
                windowed = Windowed(key, Window(start_ms, start_ms + difference_ms))
                tell = update if start_ms <= timestamp_ms else update_right
                # As in Java, a new window that is forwarded at once was, before, what it began with.
                tell(row, windowed, aggregate, base if is_direct else stored, newest_ms, headers)
            # Java returns before it looks for closed windows if a record is earlier than the first whole window after
            # 1970 (KStreamSlidingWindowAggregate.processEarly), and such windows come with a later record.
            if close is not None:
                close(closed_ms, headers)

        return step


def _told_as_new(node: NodeContext) -> Update:
    """Return the function that forwards a new window without an old value."""
    forward = node.forward

    def update(_row: bytes, key: Any, new: Any, _stored: bytes | None, timestamp_ms: int, headers: Headers) -> None:
        forward(key, new, None, timestamp_ms, headers)

    return update


def _windows(state: WindowState, key: bytes, timestamp_ms: int, difference_ms: int) -> list[Base]:
    """Return the windows that a record changes or makes, in the order in which Java updates them.

    A window begins just after a record (its right window) or ends with one (its left window). Those of the records in
    the first `difference_ms` after 1970 have one left window together, which begins at 0.
    """
    # Windows that end before the record, up to one difference earlier, tell where the record before it was.
    near = state.fetch(key, timestamp_ms - 2 * difference_ms, timestamp_ms + 1)
    existing = {each.start_ms: each.stored for each in near}
    first_ms = max(timestamp_ms - difference_ms, 0)
    around = [each for each in near if first_ms <= each.start_ms <= timestamp_ms]
    is_early = timestamp_ms < difference_ms
    left: list[Base] = []
    if is_early or first_ms not in existing:
        left = [(first_ms, existing.get(first_ms) if is_early else _left_base(state, near, first_ms))]
    changed = [(each.start_ms, each.stored) for each in around if not (is_early and each.start_ms == first_ms)]
    created = _previous_right(state, near, existing, timestamp_ms, difference_ms)
    own = _own_right(state, around, existing, timestamp_ms)
    # Java updates the common window last in this case (KStreamSlidingWindowAggregate.processEarly), and reads the
    # others forwards.
    if is_early:
        return [*changed, *created, *own, *left]
    # Otherwise it reads the windows backwards, from the latest to the earliest (processReverse), and then makes new
    # ones in this order (createWindows).
    return [*reversed(changed), *created, *left, *own]


def _left_base(state: WindowState, near: list[StoredWindow], first_ms: int) -> bytes | None:
    """Return what a new left window begins with: the last window that ends before it, if it has records in common."""
    before = [each for each in near if each.start_ms < first_ms]
    # The timestamp of a window is that of its latest record, so it tells whether that record lies in the new window as
    # well (KStreamSlidingWindowAggregate.leftWindowNotEmpty).
    return before[-1].stored if before and state.decoded(before[-1].stored)[1] >= first_ms else None


def _previous_right(
    state: WindowState, near: list[StoredWindow], existing: dict[int, bytes], timestamp_ms: int, difference_ms: int
) -> list[Base]:
    """Return the right window of the record before, if the new record makes it."""
    # As in Java, that is the newest of a window that has ended: windows of late records may be missing.
    is_early = timestamp_ms < difference_ms
    ended = near if is_early else [each for each in near if each.start_ms + difference_ms <= timestamp_ms][-2:]
    times = [state.decoded(each.stored)[1] for each in ended]
    start_ms = max((time_ms for time_ms in times if time_ms < timestamp_ms), default=timestamp_ms) + 1
    # A window is only made if there is a record in it: the new one must not be further away than its size.
    is_made = timestamp_ms - difference_ms <= start_ms <= timestamp_ms and start_ms not in existing
    return [(start_ms, None)] if is_made else []


def _own_right(
    state: WindowState, around: list[StoredWindow], existing: dict[int, bytes], timestamp_ms: int
) -> list[Base]:
    """Return the right window of the new record, if there are later records to be in it."""
    # A window that contains the record and has a later one proves that there are later records
    # (KStreamSlidingWindowAggregate.rightWindowIsNotEmpty).
    if not around or timestamp_ms + 1 in existing or state.decoded(around[-1].stored)[1] <= timestamp_ms:
        return []
    return [(timestamp_ms + 1, around[-1].stored)]
