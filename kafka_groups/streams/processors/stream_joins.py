"""Joins of streams with streams, by key and time."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.streams.processors.lookup_joins import KeyedJoiner
from kafka_groups.streams.state.windows import WindowState
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["JoinReach", "JoinedSide", "StreamJoin"]

NULL_KEY = "its key is null"
NULL_VALUE = "its value is null"


@frozen
class JoinReach:
    """The times of the other side's records that a record is joined with, both bounds included.

    Attributes:
        before_ms: How long before the record's own time.
        after_ms: How long after it.
    """

    before_ms: int
    after_ms: int


@frozen
class JoinedSide:
    """Passes the records of one side on to its join, and keeps them for the other side.

    Attributes:
        store: The window store that keeps them.
    """

    store: str
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed = node.forward, node.failed
        state: WindowState = node.state(self.store)

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            forward(key, value, timestamp_ms, headers)
            if key is None:
                return
            try:
                # A null value is not kept, but it takes a number and comes into the changelog, as in Java.
                state.put(state.next_row(state.key_bytes(key), timestamp_ms), value, timestamp_ms)
            except Exception as error:
                failed(error, key, value, timestamp_ms, headers)

        return step


@frozen(kw_only=True)
class StreamJoin:
    """Joins the records of one side with those that the other side has kept.

    Attributes:
        other: The other side's window store.
        joiner: Combines key, left and right value.
        is_left: Whether this is the left side.
        reach: The other side's records to join with.
    """

    other: str
    joiner: KeyedJoiner
    is_left: bool
    reach: JoinReach
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, combine = node.forward, node.failed, combining(self.joiner, is_left=self.is_left)
        state: WindowState = node.state(self.other)
        before_ms, after_ms = self.reach.before_ms, self.reach.after_ms

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            if key is None or value is None:
                node.dropped(NULL_KEY if key is None else NULL_VALUE)
                return
            try:
                found = state.fetch(state.key_bytes(key), timestamp_ms - before_ms, timestamp_ms + after_ms)
            except Exception as error:
                failed(error, key, value, timestamp_ms, headers)
                return
            for each in found:
                try:
                    joined = combine(key, value, state.value(each.stored))
                except Exception as error:
                    failed(error, key, value, timestamp_ms, headers)
                    return
                forward(key, joined, max(timestamp_ms, each.start_ms), headers)

        return step


def combining(joiner: KeyedJoiner, *, is_left: bool) -> Callable[[Any, Any, Any], Any]:
    """Return a joiner of key, own and other value."""
    return joiner if is_left else lambda key, own, other: joiner(key, other, own)
