"""Streams that are grouped by key and session, and their aggregations."""

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
from kafka_groups.streams.dsl.windows import EmitStrategy, SessionWindows
from kafka_groups.streams.processors.aggregate_function import AggregateFunction, aggregating, counting, reducing
from kafka_groups.streams.state.durations import milliseconds
from kafka_groups.streams.state.stores import Changelog, SessionDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.topology_arguments import check_kind

__all__ = ["SessionStoreOptions", "SessionWindowedKStream"]

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


@frozen
class SessionStoreOptions:
    """The keywords of an aggregation by sessions that are about its store.

    Attributes:
        store: A name, a definition, or None.
        retention: How long to keep sessions, if longer than they need.
        caching: Overrides the definition's; the default is to cache.
        changelog: Overrides the definition's. By default there is a changelog.
    """

    store: str | SessionDefinition[Any, Any] | None
    retention: timedelta | None
    caching: bool | None
    changelog: Changelog | None = None

    def definition(
        self, stream: StreamParts, word: str, value: Slot, windows: SessionWindows, default_name: str
    ) -> SessionDefinition[Any, Any]:
        """Return the definition of the store.

        Args:
            stream: The stream that is aggregated.
            word: The operator, for messages.
            value: The serde of results, if no definition has it.
            windows: The sessions.
            default_name: The name where none is given.
        """
        store = self.store
        asked_ms = 0 if self.retention is None else milliseconds("retention", self.retention)
        # As for windows, a retention that is too short is raised, where Java refuses it (SessionStoreMaterializer in
        # Kafka).
        if isinstance(store, SessionDefinition):
            caching, changelog = with_overrides(self, store)
            kept_ms = max(asked_ms, store.retention_ms, windows.retention_ms)
            return evolve(store, caching=caching, changelog=changelog, retention_ms=kept_ms)
        check_kind(f"{word}: store", store, str | None, "the name or definition of a session store")
        caching, changelog = with_overrides(self, None)
        return SessionDefinition(
            name=store or default_name,
            key=stream.graph.need(stream.key, word),
            value=stream.graph.need(value, word),
            retention_ms=max(asked_ms, windows.retention_ms),
            caching=caching,
            changelog=changelog,
        )


class SessionWindowedKStream(Generic[K, V]):
    """A stream that is grouped by key and session. Made by `windowed_by`."""

    def __init__(self, grouping: Grouping, windows: SessionWindows, strategy: EmitStrategy | None = None) -> None:
        self._grouping = grouping
        self._windows = windows
        self._on_close = strategy is not None and strategy.on_close

    def __repr__(self) -> str:
        return f"<SessionWindowedKStream of {self._windows!r}>"

    def emit_strategy(self, strategy: EmitStrategy) -> "SessionWindowedKStream[K, V]":
        """Forward results on each update of a session (the default), or once when it has closed (KIP-825)."""
        check_kind("emit_strategy: strategy", strategy, EmitStrategy, "an EmitStrategy")
        return SessionWindowedKStream(self._grouping, self._windows, strategy)

    def count(
        self,
        *,
        store: str | SessionDefinition[K, int] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], int]:
        """Count the records of each key and session. Records with null values count.

        Args:
            store: A name or definition of the store, to query it.
            retention: How long the store keeps sessions after their ends, if longer than their gap and grace.
            name: The operator's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        options = SessionStoreOptions(store, retention, caching, changelog)
        # As in KGroupedStreamImpl.count, a name is taken and not used.
        if store is None and (retention is not None or caching is not None):
            self._grouping.stream.graph.new_store_name("KSTREAM-AGGREGATE-")  # as Java does for a store without a name
        prefixed = "count", "KSTREAM-AGGREGATE-"
        return self._aggregated(prefixed, counting(), _sum, serdes.int64, options, name)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        store: str | SessionDefinition[K, V] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each key and session by a function of the result so far and the next value.

        Args:
            reducer: The function. It joins the results of two sessions, too.
            store: A name or definition of the store, to query it.
            retention: How long the store keeps sessions after their ends, if longer than their gap and grace.
            name: The operator's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("reduce", reducer=reducer)

        def merge(_key: Any, merged: Any, found: Any) -> Any:
            # A reduction has no initial value, so the first session that is found is the result so far
            # (SessionWindowedKStreamImpl in Kafka).
            return found if merged is None else reducer(merged, found)

        options = SessionStoreOptions(store, retention, caching, changelog)
        prefixed = "reduce", "KSTREAM-REDUCE-"
        return self._aggregated(prefixed, reducing(reducer), merge, self._grouping.stream.value, options, name)

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        merger: Callable[[K, A, A], A],
        *,
        value: Serde[A] | None = None,
        store: str | SessionDefinition[K, A] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], A]:
        """Combine the values of each key and session by a function of key, value and the result so far.

        Args:
            initializer: Makes the result before the first value: a new object each time, if the aggregator changes it.
            aggregator: The function.
            merger: Gets a key and two results, and returns the result of their sessions together.
            value: The serde of results.
            store: A name or definition of the store, to query it.
            retention: How long the store keeps sessions after their ends, if longer than their gap and grace.
            name: The operator's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("aggregate", initializer=initializer, aggregator=aggregator, merger=merger)
        options = SessionStoreOptions(store, retention, caching, changelog)
        slot: Slot = value if value is not None else Missing("aggregate", "value")
        prefixed = "aggregate", "KSTREAM-AGGREGATE-"
        return self._aggregated(prefixed, aggregating(initializer, aggregator), merger, slot, options, name)

    def _aggregated(
        self,
        prefixed: tuple[str, str],
        function: AggregateFunction,
        merger: "processors.Merger",
        value: Slot,
        options: SessionStoreOptions,
        name: str | None,
    ) -> KTable[Windowed[K], Any]:
        graph, (word, prefix) = self._grouping.stream.graph, prefixed
        is_named = options.store is not None
        default_name = "" if is_named else graph.new_store_name(prefix)
        definition = options.definition(self._grouping.stream, word, value, self._windows, default_name)
        node_name = graph.named(name, prefix)
        windows = self._windows
        operator = processors.SessionAggregate(
            definition.name, windows.gap_ms, windows.grace_ms, function, merger, self._on_close
        )
        stream = self._grouping.partitioned(word, definition.name)
        view = processors.session_view(definition.name)
        parts = aggregated_table(stream, node_name, operator, definition, view, is_named=is_named)
        key = serdes.session_windowed(definition.key)
        # A session can be extended until the gap after its end is over, so it closes later than a window with the same
        # grace (GraphGraceSearchUtil.findAndVerifyWindowGrace in Kafka).
        return KTable(evolve(parts, key=key, closes_ms=windows.gap_ms + windows.grace_ms))


def _sum(_key: Any, left: int, right: int) -> int:
    return left + right
