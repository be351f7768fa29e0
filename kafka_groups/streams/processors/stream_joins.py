"""Joins of streams with streams, by key and time."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import frozen

from kafka_groups.streams.processors.lookup_joins import KeyedJoiner
from kafka_groups.streams.state.unjoined import UnjoinedState
from kafka_groups.streams.state.window_stores import StoredWindow, WindowState
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep, stream_time_of
from kafka_groups.types import Headers

__all__ = ["NULL_KEY", "NULL_VALUE", "JoinReach", "JoinedSide", "OuterStreamJoin", "StreamJoin", "TimedResult"]

TimedResult = tuple[Any, Any, int]
"""Key, value and time of a result."""

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
        keeps_first: Whether a record is kept already when it is passed on.
    """

    store: str
    keeps_first: bool = False
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed = node.forward, node.failed
        state: WindowState = node.state(self.store)
        time = node.time()  # nothing here depends on it, but how much of the changelog is restored

        def keep(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # There is nothing to join without a key, so nothing is kept (KStreamJoinWindow in Kafka). The join gets the
            # record as well, and counts it as dropped.
            if key is None:
                return
            time.ms = max(time.ms, timestamp_ms)
            try:
                # A null value is not kept, but it takes a number and comes into the changelog, as in Java.
                state.put(state.next_row(state.key_bytes(key), timestamp_ms), value, timestamp_ms, headers)
            except Exception as error:  # a serde of the user's may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)

        # Java forwards a record, and keeps it afterwards (KStreamJoinWindow). With one store for both sides it is kept
        # first here, as SelfJoin expects to find it.
        first, second = (keep, forward) if self.keeps_first else (forward, keep)

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            first(key, value, timestamp_ms, headers)
            second(key, value, timestamp_ms, headers)

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
            # A null value would look like a missing partner in the joiner (StreamStreamJoinUtil.skipRecord in Kafka).
            if key is None or value is None:
                node.dropped(NULL_KEY if key is None else NULL_VALUE)
                return
            try:
                # The window reaches back from the record and ahead of it, both bounds included. Which partners are too
                # old is up to the store's retention, so inner joins need no time of their own
                # (KStreamKStreamJoin.process).
                found = state.fetch(state.key_bytes(key), timestamp_ms - before_ms, max(timestamp_ms + after_ms, 0))
            except Exception as error:  # a serde of the user's may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            for each in found:
                try:
                    joined = combine(key, value, state.value(each.stored))
                except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                    failed(error, key, value, timestamp_ms, headers)
                    return
                # The pair exists when its later record does.
                forward(key, joined, max(timestamp_ms, each.start_ms), headers)

        return step


@frozen(kw_only=True)
class OuterStreamJoin:
    """Joins the records of one side as `StreamJoin` does, and those that meet no partner with None.

    Attributes:
        join: The join of this side.
        unjoined: The store of records that have not met a partner yet. Both sides share it.
        keeps_own: Whether records of this side are forwarded without a partner.
        grace_ms: How long after its window a record waits for late partners.
    """

    join: StreamJoin
    unjoined: str
    keeps_own: bool
    grace_ms: int
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, results_of = node.forward, node.failed, _OuterSide(self, node).results

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            results = results_of(key, value, timestamp_ms)
            while True:
                try:
                    result = next(results, None)
                except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                    failed(error, key, value, timestamp_ms, headers)
                    return
                if result is None:
                    return
                forward(*result, headers)

        return step


class _OuterSide:
    """One side of a left or outer join in one task."""

    def __init__(self, operator: OuterStreamJoin, node: NodeContext) -> None:
        join, grace_ms = operator.join, operator.grace_ms
        self._dropped = node.dropped
        self._joiner, self._combine = join.joiner, combining(join.joiner, is_left=join.is_left)
        self._is_left, self._reach, self._keeps_own = join.is_left, join.reach, operator.keeps_own
        self._others: WindowState = node.state(join.other)
        self._unjoined: UnjoinedState = node.state(operator.unjoined)
        self._time = node.time(stream_time_of(operator.unjoined))  # of both sides
        # A record waits for as long as a partner may be later than it, and the grace on top. The reach of the other
        # side mirrors this one, so its wait is what lies before here (KStreamKStreamJoin.getOuterJoinLookBackTimeMs in
        # Kafka).
        own_ms, other_ms = join.reach.after_ms + grace_ms, join.reach.before_ms + grace_ms
        self._own_wait_ms = own_ms
        self._left_wait_ms, self._right_wait_ms = (own_ms, other_ms) if join.is_left else (other_ms, own_ms)

    def results(self, key: Any, value: Any, timestamp_ms: int) -> Iterator[TimedResult]:
        """Yield what follows from a record: first others whose time to meet a partner is over, then its own pairs."""
        unjoined = self._unjoined
        # Both sides advance one time, also with records that are dropped below
        # (KStreamImplJoin.TimeTracker.advanceStreamTime in Kafka).
        self._time.ms = stream_ms = max(self._time.ms, timestamp_ms)
        # There are three cases of nulls (KIP-962). A null value is always dropped. A null key is dropped on a side
        # whose records need a partner …
        if value is None or (key is None and not self._keeps_own):
            self._dropped(NULL_VALUE if value is None else NULL_KEY)
            return
        # … and is a result at once on a side whose records do not: no partner can come for it.
        if key is None:
            yield key, self._combine(key, value, None), timestamp_ms
            return
        if timestamp_ms == stream_ms:  # as in Java: late records, and those that are dropped, don't look
            yield from self._overdue(timestamp_ms)
        key_bytes = self._others.key_bytes(key)
        last_ms = max(timestamp_ms + self._reach.after_ms, 0)
        found = self._others.fetch(key_bytes, timestamp_ms - self._reach.before_ms, last_ms)
        if found:
            yield from self._pairs(key, value, timestamp_ms, found)
        # No partner is kept, and the time has passed after which one could still be kept: the result is final now.
        # Otherwise a partner may come later, and the record waits (the end of KStreamKStreamJoin.process).
        elif self._keeps_own and last_ms < stream_ms:
            yield key, self._combine(key, value, None), timestamp_ms
        elif self._keeps_own:
            unjoined.add(key_bytes, value, timestamp_ms, is_left=self._is_left)

    def _overdue(self, now_ms: int) -> Iterator[TimedResult]:
        """Yield records that have waited long enough. As in Java, a side looks after the wait of its own records."""
        unjoined, joiner = self._unjoined, self._joiner
        # Nothing is overdue as long as the oldest record is not (KStreamKStreamJoin.emitNonJoinedOuterRecords). Java
        # also looks at most once a second of wall-clock time; here the results depend on the records alone.
        if unjoined.oldest_ms >= now_ms - self._own_wait_ms:
            return
        rows, oldest_ms = unjoined.overdue(now_ms - self._left_wait_ms, now_ms - self._right_wait_ms)
        forwarded = None
        for row in rows:
            records = unjoined.records(row)
            unjoined.oldest_ms = records.time_ms  # if the joiner fails, it is called again with the next record
            key = self._others.key(records.key)
            for value in records.values:
                yield key, joiner(key, *((value, None) if records.is_left else (None, value))), records.time_ms
            # A row is removed when the next one has been forwarded, and not before its own results: it may have several
            # records, and if the joiner fails at one of them, the row comes again
            # (KStreamKStreamJoin.emitNonJoinedOuterRecords).
            if forwarded is not None:
                unjoined.remove(forwarded, now_ms)
            forwarded = row
        if forwarded is not None:
            unjoined.remove(forwarded, now_ms)
        unjoined.oldest_ms = oldest_ms

    def _pairs(self, key: Any, value: Any, timestamp_ms: int, found: Iterable[StoredWindow]) -> Iterator[TimedResult]:
        unjoined, others, combine = self._unjoined, self._others, self._combine
        for each in found:
            # The partner has met somebody now, so it is no result of its own any more, whether or not it waited
            # (KStreamKStreamJoin.emitInnerJoin).
            unjoined.remove(unjoined.row(each.key, each.start_ms, is_left=not self._is_left), timestamp_ms)
            yield key, combine(key, value, others.value(each.stored)), max(timestamp_ms, each.start_ms)


def combining(joiner: KeyedJoiner, *, is_left: bool) -> Callable[[Any, Any, Any], Any]:
    """Return a joiner of key, own and other value."""
    return joiner if is_left else lambda key, own, other: joiner(key, other, own)
