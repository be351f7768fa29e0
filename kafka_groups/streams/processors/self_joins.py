"""Joins of a stream with itself, by key and time, with one store in place of two."""

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from kafka_groups.streams.processors.lookup_joins import KeyedJoiner
from kafka_groups.streams.processors.stream_joins import NULL_KEY, NULL_VALUE, JoinReach, TimedResult
from kafka_groups.streams.state.window_stores import StoredWindow, WindowState
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep, OperatorTime
from kafka_groups.types import Headers

__all__ = ["SelfJoin"]


@frozen(kw_only=True)
class SelfJoin:
    """Joins each record with those that the stream has kept, and with itself.

    It has the results of two sides with a store each, in the same order: first with the record as the left one, then as
    the right one.

    Attributes:
        store: The window store of the stream, which has the record already.
        joiner: Combines key, left and right value.
        reach: The right records to join a left one with.
        retention_ms: How long the join keeps a record; a later one is not joined with itself.
    """

    store: str
    joiner: KeyedJoiner
    reach: JoinReach
    retention_ms: int
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, pairs = node.forward, node.failed, _SelfPairs(self, node.state(self.store), node.time())

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # As in the join with two stores (StreamStreamJoinUtil.skipRecord in Kafka).
            if key is None or value is None:
                node.dropped(NULL_KEY if key is None else NULL_VALUE)
                return
            for results in (pairs.as_left(key, value, timestamp_ms), pairs.as_right(key, value, timestamp_ms)):
                while True:
                    try:
                        result = next(results, None)
                    except Exception as error:  # a function or serde of the user's: the handler decides
                        failed(error, key, value, timestamp_ms, headers)
                        break
                    if result is None:
                        break
                    forward(*result, headers)

        return step


class _SelfPairs:
    """The results of a join in one task."""

    def __init__(self, operator: SelfJoin, state: WindowState, time: OperatorTime) -> None:
        self._state, self._joiner, self._reach = state, operator.joiner, operator.reach
        # KStreamKStreamSelfJoin in Kafka compares with the retention minus 1, by which a join that keeps records for 1
        # ms or less never joins one with itself. Here the newest record always is, as a store always has what was put
        # last.
        self._own_ms = max(operator.retention_ms - 1, 1)
        self._reaches_itself = operator.reach.before_ms >= 0 and operator.reach.after_ms >= 0
        self._time = time

    def as_left(self, key: Any, value: Any, timestamp_ms: int) -> Iterator[TimedResult]:
        """Yield the pairs of which a record is the left one, but for that with itself."""
        reach = self._reach
        # Only records that are joined advance this time (KStreamKStreamSelfJoin calls TimeTracker.advanceStreamTime
        # after skipRecord).
        self._time.ms = max(self._time.ms, timestamp_ms)
        for each in self._others(key, timestamp_ms, timestamp_ms - reach.before_ms, timestamp_ms + reach.after_ms):
            right = self._state.value(each.stored)
            yield key, self._joiner(key, value, right), max(timestamp_ms, each.start_ms)

    def as_right(self, key: Any, value: Any, timestamp_ms: int) -> Iterator[TimedResult]:
        """Yield the pairs of which a record is the right one, also that with itself, in the order of the left ones."""
        reach = self._reach
        found = self._others(key, timestamp_ms, timestamp_ms - reach.after_ms, timestamp_ms + reach.before_ms)
        earlier = [each for each in found if each.start_ms <= timestamp_ms]
        yield from self._right_of(earlier, key, value, timestamp_ms)
        # As in Java, the time of the store does not decide whether it is too late for itself: null values count there.
        if self._reaches_itself and self._time.ms - timestamp_ms < self._own_ms:
            yield key, self._joiner(key, value, value), timestamp_ms
        yield from self._right_of(found[len(earlier) :], key, value, timestamp_ms)

    def _right_of(self, found: list[StoredWindow], key: Any, value: Any, timestamp_ms: int) -> Iterator[TimedResult]:
        for each in found:
            left = self._state.value(each.stored)
            yield key, self._joiner(key, left, value), max(timestamp_ms, each.start_ms)

    def _others(self, key: Any, timestamp_ms: int, first_ms: int, last_ms: int) -> list[StoredWindow]:
        """Return the records of a time, but for the one at hand, which is the last of its time."""
        found = list(self._state.fetch(self._state.key_bytes(key), first_ms, max(last_ms, 0)))
        # The store has the record already, where Java joins before it stores; several records may have its time.
        own = max((at for at, each in enumerate(found) if each.start_ms == timestamp_ms), default=None)
        return found if own is None else [*found[:own], *found[own + 1 :]]
