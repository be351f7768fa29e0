"""Streams that are grouped by the same keys and aggregated together (KIP-150)."""

from collections.abc import Callable
from typing import Generic, TypeVar, overload

from attrs import evolve

from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.cogrouping import CogroupAggregator, CogroupedPart, CogroupedStreams
from kafka_groups.streams.dsl.graph import Missing, Slot
from kafka_groups.streams.dsl.grouping import Grouping
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store, view_of
from kafka_groups.streams.dsl.table import KTable
from kafka_groups.streams.dsl.windowed_cogrouped import SessionWindowedCogroupedKStream, TimeWindowedCogroupedKStream
from kafka_groups.streams.dsl.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows
from kafka_groups.streams.state.stores import Changelog, TableDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.topology_arguments import check_kind

__all__ = ["CogroupedKStream", "GroupedBy"]

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class GroupedBy(Generic[K, V]):
    """A stream that is grouped by key, as it is put together with others."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping

    def cogroup(self, aggregator: CogroupAggregator[K, V, A]) -> "CogroupedKStream[K, A]":
        """Begin an aggregation together with other streams that are grouped by the same keys (KIP-150).

        Args:
            aggregator: A function of key, value and the result so far, for the records of this stream.
        """
        check_functions("cogroup", aggregator=aggregator)
        return CogroupedKStream((CogroupedPart(self._grouping, aggregator),))


class CogroupedKStream(Generic[K, A]):
    """Streams that are aggregated together. Made by `KGroupedStream.cogroup`."""

    def __init__(self, parts: tuple[CogroupedPart, ...]) -> None:
        self._parts = parts

    def __repr__(self) -> str:
        return f"<CogroupedKStream of {', '.join(part.grouping.stream.node.name for part in self._parts)}>"

    def cogroup(self, grouped: GroupedBy[K, V], aggregator: CogroupAggregator[K, V, A]) -> "CogroupedKStream[K, A]":
        """Add another stream.

        Args:
            grouped: The stream, grouped by the same keys. It needs the same number of partitions.
            aggregator: A function of key, value and the result so far, for its records.
        """
        check_functions("cogroup", aggregator=aggregator)
        check_kind("cogroup: grouped", grouped, GroupedBy, "a stream that is grouped")
        return CogroupedKStream((*self._parts, CogroupedPart(grouped._grouping, aggregator)))

    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedCogroupedKStream[K, A]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, A]: ...
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
    ) -> TimeWindowedCogroupedKStream[K, A] | SessionWindowedCogroupedKStream[K, A]:
        """Group the records by windows, too, so that each key has a result for each of its windows or sessions."""
        # Only sessions need a function that merges two results, so their aggregation takes other arguments.
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self._parts, windows)
        check_kind(
            "windowed_by: windows", windows, TimeWindows | UnlimitedWindows | SlidingWindows, "a definition of windows"
        )
        return TimeWindowedCogroupedKStream(self._parts, windows)

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        value: Serde[A] | None = None,
        store: str | TableDefinition[K, A] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, A]:
        """Combine the values of each key, from all streams, into one result.

        Args:
            initializer: Makes the result of a key before its first record: a new object each time, if aggregators
                change it.
            value: The serde of the results.
            store: A name or definition of the table's store, to query it.
            name: The beginning of the nodes' names.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("aggregate", initializer=initializer)
        slot: Slot = value if value is not None else Missing("aggregate", "value")
        group = CogroupedStreams(self._parts)
        default_name = group.default_store_name(is_named=store is not None)
        serdes = (group.stream.key, slot)
        definition = key_value_store(
            group.stream.graph, "aggregate", StoreOptions(store, caching, changelog), default_name, serdes
        )
        table = group.table(
            definition,
            # One operator for each stream, all with the same store: whichever record comes first makes the row of a key
            # (CogroupedStreamAggregateBuilder.build in Kafka).
            lambda aggregator: processors.StreamAggregate(definition.name, initializer, aggregator),
            view_of(definition),
            name,
        )
        return KTable(evolve(table, store=None if store is None else definition.name))
