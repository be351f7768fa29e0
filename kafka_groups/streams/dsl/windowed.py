"""Streams that are grouped by key and window, and their aggregations."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, TypeVar

from attrs import evolve, frozen

from kafka_groups import serdes
from kafka_groups.serdes import Serde, Windowed
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.aggregated_table import aggregated_table
from kafka_groups.streams.dsl.graph import Missing, Slot
from kafka_groups.streams.dsl.grouping import Grouping
from kafka_groups.streams.dsl.materialized import with_overrides
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.table import KTable
from kafka_groups.streams.dsl.windows import EmitStrategy, SlidingWindows, TimeWindows, UnlimitedWindows
from kafka_groups.streams.processors.aggregate_function import AggregateFunction, aggregating, counting, reducing
from kafka_groups.streams.state.durations import milliseconds
from kafka_groups.streams.state.stores import Changelog, WindowDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.topology_arguments import check_kind

__all__ = ["FixedOrSlidingWindows", "TimeWindowedKStream", "WindowStoreOptions", "window_operator", "windowed_key"]

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")

FixedOrSlidingWindows = TimeWindows | UnlimitedWindows | SlidingWindows


@frozen
class WindowStoreOptions:
    """The keywords of a windowed operator that are about its store.

    Attributes:
        store: A name, a definition, or None.
        retention: How long to keep windows, if longer than they need.
        caching: Overrides the definition's; the default is to cache.
        changelog: Overrides the definition's. By default there is a changelog.
    """

    store: str | WindowDefinition[Any, Any] | None
    retention: timedelta | None
    caching: bool | None
    changelog: Changelog | None = None

    def definition(
        self, stream: StreamParts, word: str, value: Slot, windows: FixedOrSlidingWindows, default_name: str
    ) -> WindowDefinition[Any, Any]:
        """Return the definition of the store.

        Args:
            stream: The stream that is aggregated.
            word: The operator, for messages.
            value: The serde of results, if no definition has it.
            windows: The windows.
            default_name: The name where none is given.
        """
        store = self.store
        asked_ms = 0 if self.retention is None else milliseconds("retention", self.retention)
        # A definition keeps its own longer retention. Shorter ones are raised to what the windows need, where Java
        # refuses them (WindowStoreMaterializer in Kafka), because windows would be gone before they close.
        if isinstance(store, WindowDefinition):
            caching, changelog = with_overrides(self, store)
            kept_ms = max(asked_ms, store.retention_ms, windows.retention_ms)
            return evolve(
                store,
                timestamped=True,
                starts_before_records=True,
                caching=caching,
                changelog=changelog,
                size_ms=windows.size_ms,
                retention_ms=kept_ms,
            )
        check_kind(f"{word}: store", store, str | None, "the name or definition of a window store")
        caching, changelog = with_overrides(self, None)
        return WindowDefinition(
            name=store or default_name,
            key=stream.graph.need(stream.key, word),
            value=stream.graph.need(value, word),
            size_ms=windows.size_ms,
            retention_ms=max(asked_ms, windows.retention_ms),
            timestamped=True,
            starts_before_records=True,
            caching=caching,
            changelog=changelog,
        )


class TimeWindowedKStream(Generic[K, V]):
    """A stream that is grouped by key and window. Made by `windowed_by`."""

    def __init__(
        self,
        grouping: Grouping,
        windows: FixedOrSlidingWindows,
        strategy: EmitStrategy | None = None,
    ) -> None:
        self._grouping = grouping
        self._windows = windows
        self._on_close = strategy is not None and strategy.on_close

    def __repr__(self) -> str:
        return f"<TimeWindowedKStream of {self._windows!r}>"

    def emit_strategy(self, strategy: EmitStrategy) -> "TimeWindowedKStream[K, V]":
        """Forward results on each update of a window (the default), or once when a window has closed (KIP-825)."""
        check_kind("emit_strategy: strategy", strategy, EmitStrategy, "an EmitStrategy")
        return TimeWindowedKStream(self._grouping, self._windows, strategy)

    def count(
        self,
        *,
        store: str | WindowDefinition[K, int] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], int]:
        """Count the records of each key and window. Records with null values count.

        Args:
            store: A name or definition of the store, to query it.
            retention: How long the store keeps windows, if longer than their size and grace.
            name: The operator's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        options = WindowStoreOptions(store, retention, caching, changelog)
        if store is None and (retention is not None or caching is not None):
            self._grouping.stream.graph.new_store_name("KSTREAM-AGGREGATE-")  # as Java does for a store without a name
        return self._aggregated("count", "KSTREAM-AGGREGATE-", counting(), serdes.int64, options, name)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        store: str | WindowDefinition[K, V] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each key and window by a function of the result so far and the next value.

        Args:
            reducer: The function.
            store: A name or definition of the store, to query it.
            retention: How long the store keeps windows, if longer than their size and grace.
            name: The operator's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("reduce", reducer=reducer)
        options = WindowStoreOptions(store, retention, caching, changelog)
        return self._aggregated(
            "reduce", "KSTREAM-REDUCE-", reducing(reducer), self._grouping.stream.value, options, name
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        *,
        value: Serde[A] | None = None,
        store: str | WindowDefinition[K, A] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], A]:
        """Combine the values of each key and window by a function of key, value and the result so far.

        Args:
            initializer: Makes the result before the first value: a new object each time, if the aggregator changes it.
            aggregator: The function.
            value: The serde of results.
            store: A name or definition of the store, to query it.
            retention: How long the store keeps windows, if longer than their size and grace.
            name: The operator's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("aggregate", initializer=initializer, aggregator=aggregator)
        options = WindowStoreOptions(store, retention, caching, changelog)
        slot: Slot = value if value is not None else Missing("aggregate", "value")
        function = aggregating(initializer, aggregator)
        return self._aggregated("aggregate", "KSTREAM-AGGREGATE-", function, slot, options, name)

    def _aggregated(
        self,
        word: str,
        prefix: str,
        function: AggregateFunction,
        value: Slot,
        options: WindowStoreOptions,
        name: str | None,
    ) -> KTable[Windowed[K], Any]:
        graph = self._grouping.stream.graph
        is_named = options.store is not None
        # The order of the indices is that of aggregations without windows.
        default_name = "" if is_named else graph.new_store_name(prefix)
        definition = options.definition(self._grouping.stream, word, value, self._windows, default_name)
        node_name = graph.named(name, prefix)
        operator = window_operator(self._windows, definition.name, function, on_close=self._on_close)
        stream = self._grouping.partitioned(word, definition.name)
        view = processors.windowed_view(definition.name)
        parts = aggregated_table(stream, node_name, operator, definition, view, is_named=is_named)
        key = windowed_key(definition.key, self._windows)
        return KTable(evolve(parts, key=key, closes_ms=self._windows.grace_ms))


def window_operator(
    windows: FixedOrSlidingWindows, store: str, function: AggregateFunction, *, on_close: bool = False
) -> "processors.WindowedAggregate | processors.SlidingAggregate":
    """Return the operator that aggregates by windows."""
    # Sliding windows are made by records, and both of their ends belong to them, so they have an operator of their own
    # (KStreamSlidingWindowAggregate in Kafka).
    if isinstance(windows, SlidingWindows):
        return processors.SlidingAggregate(store, windows.difference_ms, windows.grace_ms, function, on_close)
    return processors.WindowedAggregate(store, windows, function, on_close)


def windowed_key(key: Serde[K], windows: FixedOrSlidingWindows) -> Serde[Windowed[K]]:
    """Return the serde of the keys of results."""
    # A sliding window with a difference of 0 contains one time, and a serde of windows needs a size.
    return serdes.time_windowed(key, max(windows.size_ms, 1))
