"""Streams that are grouped by key, and their aggregations."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from kafka_groups import serdes
from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.aggregated_table import aggregated_table
from kafka_groups.streams.dsl.cogrouped import GroupedBy
from kafka_groups.streams.dsl.graph import Missing, Slot
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store, view_of
from kafka_groups.streams.dsl.session_windowed import SessionWindowedKStream
from kafka_groups.streams.dsl.table import KTable
from kafka_groups.streams.dsl.windowed import TimeWindowedKStream
from kafka_groups.streams.dsl.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows
from kafka_groups.streams.processors.aggregate_function import one_more, zero
from kafka_groups.streams.state.stores import Changelog, TableDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.topology_arguments import check_kind

__all__ = ["KGroupedStream"]

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedStream(GroupedBy[K, V]):
    """A stream that is grouped by key. Made by `group_by` and `group_by_key`."""

    def count(
        self,
        *,
        store: str | TableDefinition[K, int] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, int]:
        """Count the records of each key. Records whose key or value is null are not counted."""
        # The name is not used: KGroupedStreamImpl.count in Kafka takes it for compatibility with topologies of before,
        # if a Materialized without a name is given.
        if store is None and caching is not None:
            self._grouping.stream.graph.new_store_name("KSTREAM-AGGREGATE-")  # as Java does for a store without a name

        def build(store_name: str) -> "processors.StreamAggregate":
            return processors.StreamAggregate(store_name, zero, one_more)

        return self._aggregated(
            "count", "KSTREAM-AGGREGATE-", build, serdes.int64, StoreOptions(store, caching, changelog), name
        )

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        store: str | TableDefinition[K, V] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, V]:
        """Combine the values of each key by a function of the result so far and the next value."""
        check_functions("reduce", reducer=reducer)

        def build(store_name: str) -> "processors.StreamReduce":
            return processors.StreamReduce(store_name, reducer)

        return self._aggregated(
            "reduce",
            "KSTREAM-REDUCE-",
            build,
            self._grouping.stream.value,
            StoreOptions(store, caching, changelog),
            name,
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        *,
        value: Serde[A] | None = None,
        store: str | TableDefinition[K, A] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, A]:
        """Combine the values of each key by a function of key, value and the result so far.

        The initializer makes the result before the first value: a new object each time, if the aggregator changes it.
        """
        check_functions("aggregate", initializer=initializer, aggregator=aggregator)

        def build(store_name: str) -> "processors.StreamAggregate":
            return processors.StreamAggregate(store_name, initializer, aggregator)

        slot: Slot = value if value is not None else Missing("aggregate", "value")
        return self._aggregated(
            "aggregate", "KSTREAM-AGGREGATE-", build, slot, StoreOptions(store, caching, changelog), name
        )

    @overload
    def windowed_by(self, windows: TimeWindows | UnlimitedWindows | SlidingWindows) -> TimeWindowedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
    ) -> TimeWindowedKStream[K, V] | SessionWindowedKStream[K, V]:
        """Group the records by windows, too, so that each key has a result for each of its windows or sessions."""
        # Sessions depend on records, and have another kind of store than windows that are fixed in time.
        if isinstance(windows, SessionWindows):
            return SessionWindowedKStream(self._grouping, windows)
        check_kind(
            "windowed_by: windows", windows, TimeWindows | UnlimitedWindows | SlidingWindows, "a definition of windows"
        )
        return TimeWindowedKStream(self._grouping, windows)

    def _aggregated(
        self,
        word: str,
        prefix: str,
        build: "Callable[[str], processors.StreamAggregate | processors.StreamReduce]",
        value: Slot,
        options: StoreOptions,
        name: str | None,
    ) -> KTable[K, Any]:
        graph = self._grouping.stream.graph
        is_named = options.store is not None
        # The store takes the first index, the operator the second, and a repartition topic three more
        # (MaterializedInternal, KGroupedStreamImpl and GroupedStreamAggregateBuilder.build in Kafka).
        default_name = "" if is_named else graph.new_store_name(prefix)
        definition = key_value_store(graph, word, options, default_name, (self._grouping.stream.key, value))
        node_name = graph.named(name, prefix)
        operator = build(definition.name)
        stream = self._grouping.partitioned(word, definition.name)
        view = view_of(definition)
        return KTable(aggregated_table(stream, node_name, operator, definition, view, is_named=is_named))
