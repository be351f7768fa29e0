"""Streams that are grouped by the same keys and by windows, and aggregated together (KIP-150)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Generic, TypeVar

from attrs import evolve

from kafka_groups import serdes
from kafka_groups.serdes import Serde, Windowed
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.cogrouping import CogroupedPart, CogroupedStreams
from kafka_groups.streams.dsl.graph import Missing, Slot
from kafka_groups.streams.dsl.session_windowed import SessionStoreOptions
from kafka_groups.streams.dsl.table import KTable
from kafka_groups.streams.dsl.windowed import FixedOrSlidingWindows, WindowStoreOptions, window_operator, windowed_key
from kafka_groups.streams.dsl.windows import SessionWindows
from kafka_groups.streams.processors.aggregate_function import aggregating
from kafka_groups.streams.state.stores import Changelog, SessionDefinition, WindowDefinition
from kafka_groups.streams.topology.functions import check_functions

__all__ = ["SessionWindowedCogroupedKStream", "TimeWindowedCogroupedKStream"]

K = TypeVar("K")
A = TypeVar("A")


class TimeWindowedCogroupedKStream(Generic[K, A]):
    """Streams that are aggregated together by key and window. Made by `CogroupedKStream.windowed_by`."""

    def __init__(self, parts: tuple[CogroupedPart, ...], windows: FixedOrSlidingWindows) -> None:
        self._streams = CogroupedStreams(parts)
        self._windows = windows

    def __repr__(self) -> str:
        return f"<TimeWindowedCogroupedKStream of {self._windows!r}>"

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        value: Serde[A] | None = None,
        store: str | WindowDefinition[K, A] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], A]:
        """Combine the values of each key and window, from all streams, into one result.

        Args:
            initializer: Makes the result before the first value: a new object each time, if aggregators change it.
            value: The serde of results.
            store: A name or definition of the store, to query it.
            retention: How long the store keeps windows, if longer than their size and grace.
            name: The beginning of the nodes' names.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("aggregate", initializer=initializer)
        streams, windows, options = (
            self._streams,
            self._windows,
            WindowStoreOptions(store, retention, caching, changelog),
        )
        slot: Slot = value if value is not None else Missing("aggregate", "value")
        default_name = streams.default_store_name(is_named=store is not None)
        definition = options.definition(streams.stream, "aggregate", slot, windows, default_name)
        table = streams.table(
            definition,
            # Results are forwarded with each update: Java has no emit strategy here either
            # (CogroupedStreamAggregateBuilder.build).
            lambda aggregator: window_operator(windows, definition.name, aggregating(initializer, aggregator)),
            processors.windowed_view(definition.name),
            name,
        )
        key, closes_ms = windowed_key(definition.key, windows), windows.grace_ms
        return KTable(evolve(table, key=key, closes_ms=closes_ms, store=None if store is None else definition.name))


class SessionWindowedCogroupedKStream(Generic[K, A]):
    """Streams that are aggregated together by key and session. Made by `CogroupedKStream.windowed_by`."""

    def __init__(self, parts: tuple[CogroupedPart, ...], windows: SessionWindows) -> None:
        self._streams = CogroupedStreams(parts)
        self._windows = windows

    def __repr__(self) -> str:
        return f"<SessionWindowedCogroupedKStream of {self._windows!r}>"

    def aggregate(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], A],
        *,
        value: Serde[A] | None = None,
        store: str | SessionDefinition[K, A] | None = None,
        retention: timedelta | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[Windowed[K], A]:
        """Combine the values of each key and session, from all streams, into one result.

        Args:
            initializer: Makes the result before the first value: a new object each time, if aggregators change it.
            merger: Gets a key and two results, and returns the result of their sessions together.
            value: The serde of results.
            store: A name or definition of the store, to query it.
            retention: How long the store keeps sessions after their ends, if longer than their gap and grace.
            name: The beginning of the nodes' names.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("aggregate", initializer=initializer, merger=merger)
        streams, windows, options = (
            self._streams,
            self._windows,
            SessionStoreOptions(store, retention, caching, changelog),
        )
        slot: Slot = value if value is not None else Missing("aggregate", "value")
        default_name = streams.default_store_name(is_named=store is not None)
        definition = options.definition(streams.stream, "aggregate", slot, windows, default_name)
        table = streams.table(
            definition,
            lambda aggregator: processors.SessionAggregate(
                definition.name, windows.gap_ms, windows.grace_ms, aggregating(initializer, aggregator), merger
            ),
            processors.session_view(definition.name),
            name,
        )
        # A session can be extended until the gap after its end is over, and the grace on top.
        key, closes_ms = serdes.session_windowed(definition.key), windows.gap_ms + windows.grace_ms
        return KTable(evolve(table, key=key, closes_ms=closes_ms, store=None if store is None else definition.name))
