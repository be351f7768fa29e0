"""Aggregations of several streams into one store, as the DSL writes them."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from attrs import frozen

from kafka_groups.streams import processors
from kafka_groups.streams.dsl.aggregated_table import sending_old_values
from kafka_groups.streams.dsl.graph import GraphNode
from kafka_groups.streams.dsl.grouping import Grouping
from kafka_groups.streams.dsl.materialized import history_of
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.processors.views import TableView
from kafka_groups.streams.state.stores import SessionDefinition, TableDefinition, WindowDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph

__all__ = ["CogroupAggregator", "CogroupedPart", "CogroupedStreams"]

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")

CogroupAggregator = Callable[[K, V, A], A]

AggregatingOperator: TypeAlias = (
    "processors.StreamAggregate | processors.WindowedAggregate | processors.SlidingAggregate"
    " | processors.SessionAggregate"
)

AggregateDefinition = TableDefinition[Any, Any] | WindowDefinition[Any, Any] | SessionDefinition[Any, Any]

_AGGREGATE = "COGROUPKSTREAM-AGGREGATE-"


@frozen
class CogroupedPart:
    """One of the streams, and the function that takes its records into the result."""

    grouping: Grouping
    aggregator: CogroupAggregator[Any, Any, Any]


@frozen
class CogroupedStreams:
    """The streams of one aggregation."""

    parts: tuple[CogroupedPart, ...]

    @property
    def stream(self) -> StreamParts:
        """The first of the streams. The others have the same keys."""
        return self.parts[0].grouping.stream

    def default_store_name(self, *, is_named: bool) -> str:
        """Return the next name of a store. A store that has a name already takes none."""
        return "" if is_named else self.stream.graph.new_store_name(_AGGREGATE)

    def table(
        self,
        definition: AggregateDefinition,
        operator: Callable[[CogroupAggregator[Any, Any, Any]], AggregatingOperator],
        view: TableView,
        name: str | None,
    ) -> TableParts:
        """Add an aggregation for each stream, and return the table of their results, with the keys of the streams.

        Args:
            definition: The store of all of them.
            operator: Makes the operator for a stream's function.
            view: Looks results up.
            name: The beginning of the nodes' names.
        """
        # Each stream gets a repartition topic of its own if its keys have changed; a name that is given for the group
        # is the topic's name (CogroupedStreamAggregateBuilder.build in Kafka).
        above = [part.grouping.partitioned("aggregate", definition.name) for part in self.parts]
        sources = frozenset[str]().union(*(stream.sources for stream in above))
        operators = [operator(part.aggregator) for part in self.parts]
        node = self._add(definition, above, operators, name, sources)
        return TableParts(
            graph=self.stream.graph,
            node=node,
            sources=frozenset({node.name}),
            key=definition.key,
            value=definition.value,
            send_old_values=sending_old_values(*operators),
            view=lambda: view,
            store=None,
            history_ms=history_of(definition),
        )

    def _add(
        self,
        definition: AggregateDefinition,
        above: list[StreamParts],
        operators: list[AggregatingOperator],
        name: str | None,
        sources: frozenset[str],
    ) -> GraphNode:
        """Add an aggregation for each stream, and the node that merges their changes."""
        graph = self.stream.graph
        # All nodes take an index, named or not.
        names = [graph.new_name(_AGGREGATE) for _ in operators]
        merge = graph.named(None if name is None else f"{name}-cogroup-merge", "COGROUPKSTREAM-MERGE-")
        if name is not None:
            names = [f"{name}-cogroup-agg-{index}" for index in range(len(operators))]

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            for node_name, operator, parent in zip(names, operators, parents, strict=True):
                topology.add_operator(node_name, operator, [parent])
            topology.add_state_store(definition, *names)
            topology.add_operator(merge, processors.TableMerge(), names)
            # One store has the results of all streams, so equal keys of all of them have to be in one task.
            topology.copartition(sources)
            # As in Java, what follows knows the sources no more (`CogroupedStreamAggregateBuilder.createTable`).
            topology.stand_in(merge, sources)

        return graph.add(merge, write, *(stream.node for stream in above))
