"""Aggregations of streams and tables into key-value stores."""

from collections.abc import Callable
from typing import Any

from attrs import define

from kafka_groups.streams.processors.initial_values import own_initial_values
from kafka_groups.streams.processors.updates import updates
from kafka_groups.streams.state.rows import StoreRows
from kafka_groups.streams.state.versioned_stores import VersionedState
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["StreamAggregate", "StreamReduce", "TableAggregate", "TableReduce"]

Aggregator = Callable[[Any, Any, Any], Any]


@define
class StreamAggregate:
    """Aggregates the records of each key. The result's timestamp is the highest of its records."""

    store: str
    initializer: Callable[[], Any]
    aggregator: Aggregator
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        state, failed = node.state(self.store), node.failed
        initializer, aggregator = own_initial_values(self.initializer, state), self.aggregator
        # As in Java, a new key's first change takes the initial value out.
        update = updates(node, state, send_old=self.send_old, initial=initializer)
        put = _putting(state)

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # A null value is not an addition to the aggregate; deletions exist for tables only
            # (KStreamAggregate.process in Kafka).
            if key is None or value is None:
                node.dropped("its key or value is null")
                return
            key_bytes = state.key_bytes(key)
            stored = state.stored(key_bytes)
            try:
                if stored is None:
                    aggregate, newest_ms = initializer(), timestamp_ms
                else:
                    aggregate, old_ms = state.decoded(stored)
                    # A late record counts, and does not make the result older.
                    newest_ms = max(timestamp_ms, old_ms)
                # A result of None deletes the row, so that the next record begins with the initializer again.
                aggregate = aggregator(key, value, aggregate)
                put(key_bytes, aggregate, timestamp_ms, newest_ms)
            except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            update(key_bytes, key, aggregate, stored, newest_ms, headers)

        return step


@define
class StreamReduce:
    """Combines the values of each key into one of the same type."""

    store: str
    reducer: Callable[[Any, Any], Any]
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        state, failed, reducer = node.state(self.store), node.failed, self.reducer
        update, put = updates(node, state, send_old=self.send_old), _putting(state)

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # The same (KStreamReduce.process in Kafka).
            if key is None or value is None:
                node.dropped("its key or value is null")
                return
            key_bytes = state.key_bytes(key)
            stored = state.stored(key_bytes)
            try:
                if stored is None:
                    # The first value of a key is the result; the reducer is called from the second one on.
                    reduced, newest_ms = value, timestamp_ms
                else:
                    old, old_ms = state.decoded(stored)
                    reduced, newest_ms = reducer(old, value), max(timestamp_ms, old_ms)
                put(key_bytes, reduced, timestamp_ms, newest_ms)
            except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            update(key_bytes, key, reduced, stored, newest_ms, headers)

        return step


@define
class TableAggregate:
    """Aggregates the rows of a table under new keys: an update takes its old value out and puts its new value in."""

    store: str
    initializer: Callable[[], Any]
    adder: Aggregator
    subtractor: Aggregator
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        initializer = own_initial_values(self.initializer, node.state(self.store))
        adder, subtractor = self.adder, self.subtractor

        def combine(key: Any, new: Any, old: Any, aggregate: Any) -> Any:
            # The old value is taken out first, then the new one is put in (KTableAggregate.process in Kafka). Without
            # an aggregate there is nothing to take it out of, for example after a subtractor has returned None.
            if old is not None and aggregate is not None:
                aggregate = subtractor(key, old, aggregate)
            if new is not None:
                aggregate = adder(key, new, initializer() if aggregate is None else aggregate)
            return aggregate

        return _regrouped(node, self.store, combine, send_old=self.send_old)


@define
class TableReduce:
    """Combines the values of the rows under new keys into one of the same type."""

    store: str
    adder: Callable[[Any, Any], Any]
    subtractor: Callable[[Any, Any], Any]
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        adder, subtractor = self.adder, self.subtractor

        def combine(_key: Any, new: Any, old: Any, reduced: Any) -> Any:
            # The same order as in KTableAggregate (KTableReduce.process in Kafka).
            if old is not None and reduced is not None:
                reduced = subtractor(reduced, old)
            if new is not None:
                reduced = new if reduced is None else adder(reduced, new)
            return reduced

        return _regrouped(node, self.store, combine, send_old=self.send_old)


def _putting(state: StoreRows) -> Callable[[bytes, Any, int, int], None]:
    """Return a function of key, result, time of the record and time of the result that puts a result."""
    put, is_versioned = state.put, isinstance(state, VersionedState)

    def putting(key: bytes, result: Any, timestamp_ms: int, newest_ms: int) -> None:
        # A deleted row has no time of its own, so its tombstone has that of the record. A version without a value has
        # one: it follows the versions before it.
        put(key, result, timestamp_ms if result is None and not is_versioned else newest_ms)

    return putting


def _regrouped(
    node: NodeContext, store: str, combine: Callable[[Any, Any, Any, Any], Any], *, send_old: bool
) -> NodeStep:
    """Return the step of an aggregation of a table, whose records are changes under new keys."""
    state, failed = node.state(store), node.failed
    update, put = updates(node, state, send_old=send_old), _putting(state)

    def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
        # RegroupTable never forwards a null key, so one comes from another program that writes to the repartition
        # topic. Java ends the thread (KTableAggregate.process); here the record is dropped and counted, like every
        # other record without a key.
        if key is None:
            node.dropped("its key is null")
            return
        key_bytes = state.key_bytes(key)
        stored = state.stored(key_bytes)
        try:
            aggregate, stored_ms = (None, timestamp_ms) if stored is None else state.decoded(stored)
            # An update of the table above may come as two changes, for its old and its new key, which meet in two
            # different groups. Between them the result of one group is incomplete, as in Java.
            aggregate = combine(key, new, old, aggregate)
            newest_ms = max(timestamp_ms, stored_ms)
            put(key_bytes, aggregate, timestamp_ms, newest_ms)
        except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
            failed(error, key, new, timestamp_ms, headers)
            return
        update(key_bytes, key, aggregate, stored, newest_ms, headers)

    return step
