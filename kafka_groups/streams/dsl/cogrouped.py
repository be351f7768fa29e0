"""Streams that are grouped by the same keys and aggregated together (KIP-150)."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from attrs import frozen

from kafka_groups.serdes import Serde
from kafka_groups.streams.dsl.graph import Graph, GraphNode, Missing, Slot
from kafka_groups.streams.dsl.grouping import Grouping
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store
from kafka_groups.streams.dsl.table import KTable
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.processors.aggregating import StreamAggregate
from kafka_groups.streams.processors.tables import TableMerge
from kafka_groups.streams.processors.views import stored_view
from kafka_groups.streams.state.stores import KeyValueDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph

__all__ = ["CogroupedKStream", "CogroupedPart", "GroupedBy"]

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")

CogroupAggregator = Callable[[K, V, A], A]

_AGGREGATE = "COGROUPKSTREAM-AGGREGATE-"


@frozen
class CogroupedPart:
    """One of the streams, and the function that takes its records into the result."""

    grouping: Grouping
    aggregator: CogroupAggregator[Any, Any, Any]


class GroupedBy(Generic[K, V]):
    """A stream that is grouped by key, as it is put together with others."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping

    def cogroup(self, aggregator: CogroupAggregator[K, V, A]) -> "CogroupedKStream[K, A]":
        """Begin an aggregation together with other streams that are grouped by the same keys (KIP-150).

        Args:
            aggregator: A function of key, value and the result so far, for the records of this stream.
        """
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
        return CogroupedKStream((*self._parts, CogroupedPart(grouped._grouping, aggregator)))

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        value: Serde[A] | None = None,
        store: str | KeyValueDefinition[K, A] | None = None,
        name: str | None = None,
        caching: bool | None = None,
    ) -> KTable[K, A]:
        """Combine the values of each key, from all streams, into one result.

        Args:
            initializer: Makes the result of a key before its first record.
            value: The serde of the results.
            store: A name or definition of the table's store, to query it.
            name: The beginning of the nodes' names.
            caching: False to forward every update.
        """
        graph = self._parts[0].grouping.stream.graph
        slot: Slot = value if value is not None else Missing("aggregate", "value")
        default_name = "" if store is not None else graph.new_store_name(_AGGREGATE)
        serdes = (self._parts[0].grouping.stream.key, slot)
        definition = key_value_store(graph, "aggregate", StoreOptions(store, caching), default_name, serdes)
        above = [part.grouping.partitioned("aggregate", definition.name) for part in self._parts]
        sources = frozenset[str]().union(*(stream.sources for stream in above))
        operators = [StreamAggregate(definition.name, initializer, part.aggregator) for part in self._parts]
        node = _add(graph, definition, [stream.node for stream in above], operators, name, sources)

        def send_old_values(*, force: bool) -> bool:
            del force
            for operator in operators:
                operator.send_old = True
            return True

        return KTable(
            TableParts(
                graph=graph,
                node=node,
                sources=sources,
                key=definition.key,
                value=definition.value,
                send_old_values=send_old_values,
                view=lambda: stored_view(definition.name),
                store=None if store is None else definition.name,
            )
        )


def _add(
    graph: Graph,
    definition: KeyValueDefinition[Any, Any],
    above: list[GraphNode],
    operators: list[StreamAggregate],
    name: str | None,
    sources: frozenset[str],
) -> GraphNode:
    """Add an aggregation for each stream, and the node that merges their changes."""
    names = [graph.new_name(_AGGREGATE) for _ in operators]
    merge = graph.named(None if name is None else f"{name}-cogroup-merge", "COGROUPKSTREAM-MERGE-")
    if name is not None:
        names = [f"{name}-cogroup-agg-{index}" for index in range(len(operators))]

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        for node_name, operator, parent in zip(names, operators, parents, strict=True):
            topology.add_operator(node_name, operator, [parent])
        topology.add_state_store(definition, *names)
        topology.add_operator(merge, TableMerge(), names)
        topology.copartition(sources)

    return graph.add(merge, write, *above)
