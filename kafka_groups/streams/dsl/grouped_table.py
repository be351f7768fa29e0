"""Tables that are grouped by new keys, and their aggregations."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kafka_groups import serdes
from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.aggregated_table import sending_old_values
from kafka_groups.streams.dsl.graph import GraphNode, Missing, Slot
from kafka_groups.streams.dsl.grouping import Grouping
from kafka_groups.streams.dsl.materialized import StoreOptions, history_of, key_value_store, view_of
from kafka_groups.streams.dsl.table import KTable
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.processors.aggregate_function import one_more, zero
from kafka_groups.streams.state.stores import Changelog, TableDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SinkNode, SourceNode

__all__ = ["KGroupedTable"]

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedTable(Generic[K, V]):
    """A table that is grouped by new keys. Made by `KTable.group_by`."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping
        self._shared: GraphNode | None = None

    def count(
        self,
        *,
        store: str | TableDefinition[K, int] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, int]:
        """Count the rows of each new key."""

        def build(store_name: str) -> "processors.TableAggregate":
            return processors.TableAggregate(store_name, zero, one_more, _one_less)

        options = StoreOptions(store, caching, changelog)
        return self._aggregated("count", "KTABLE-AGGREGATE-", build, serdes.int64, options, name)

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        *,
        store: str | TableDefinition[K, V] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, V]:
        """Combine the values of each new key.

        Args:
            adder: Gets the result so far and a value that came.
            subtractor: Gets the result so far and a value that went.
            store: A name or definition of the result's store.
            name: The node's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("reduce", adder=adder, subtractor=subtractor)

        def build(store_name: str) -> "processors.TableReduce":
            return processors.TableReduce(store_name, adder, subtractor)

        options = StoreOptions(store, caching, changelog)
        return self._aggregated("reduce", "KTABLE-REDUCE-", build, self._grouping.stream.value, options, name)

    def aggregate(
        self,
        initializer: Callable[[], A],
        adder: Callable[[K, V, A], A],
        subtractor: Callable[[K, V, A], A],
        *,
        value: Serde[A] | None = None,
        store: str | TableDefinition[K, A] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, A]:
        """Aggregate the rows of each new key.

        Args:
            initializer: Makes the first result: a new object each time, if the adder changes it.
            adder: Gets key, a value that came, and the result so far.
            subtractor: Gets key, a value that went, and the result so far.
            value: The serde of results.
            store: A name or definition of the result's store.
            name: The node's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("aggregate", initializer=initializer, adder=adder, subtractor=subtractor)

        def build(store_name: str) -> "processors.TableAggregate":
            return processors.TableAggregate(store_name, initializer, adder, subtractor)

        slot: Slot = value if value is not None else Missing("aggregate", "value")
        return self._aggregated(
            "aggregate", "KTABLE-AGGREGATE-", build, slot, StoreOptions(store, caching, changelog), name
        )

    def _aggregated(
        self,
        word: str,
        prefix: str,
        build: "Callable[[str], processors.TableAggregate | processors.TableReduce]",
        value: Slot,
        options: StoreOptions,
        name: str | None,
    ) -> KTable[K, Any]:
        rows, graph = self._grouping.stream, self._grouping.stream.graph
        default_name = "" if options.store is not None else graph.new_store_name("KTABLE-AGGREGATE-")
        definition = key_value_store(graph, word, options, default_name, (rows.key, value))
        above = self._repartitioned(word, f"{self._grouping.name or definition.name}-repartition", name)
        node_name = graph.named(name, prefix)
        operator = build(definition.name)

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(node_name, operator, parents)
            topology.add_state_store(definition, node_name)

        node = graph.add(node_name, write, above)
        return KTable(
            TableParts(
                graph=graph,
                node=node,
                sources=frozenset({above.name}),
                key=definition.key,
                value=definition.value,
                send_old_values=sending_old_values(operator),
                view=lambda: view_of(definition),
                store=None if options.store is None else definition.name,
                history_ms=history_of(definition),
            )
        )

    def _repartitioned(self, word: str, topic: str, name: str | None) -> GraphNode:
        rows, graph = self._grouping.stream, self._grouping.stream.graph
        # The order of the indices is that of KGroupedTableImpl.doAggregate in Kafka. A grouped table always has a
        # repartition topic: its key is new, and both its old and its new value have to reach the same task in order.
        sink_name = graph.suffixed(name, "-sink", "KSTREAM-SINK-")
        source_name = graph.suffixed(name, "-source", "KSTREAM-SOURCE-")
        key, row = graph.need(rows.key, word), graph.need(rows.value, word)
        # All aggregations of a grouping whose topic the program named read that topic; of others, each has its own
        # (the field repartitionGraphNode in Kafka).
        if self._shared is not None:
            return self._shared

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_repartition_topic(topic, None)
            sink = SinkNode(name=sink_name, parents=parents, topic=topic, key=key, value=row, takes_changes=True)
            topology.add_node(sink)
            topology.add_node(SourceNode(name=source_name, topics=(topic,), key=key, value=row, gives_changes=True))

        made = graph.add(source_name, write, rows.node)
        if self._grouping.name is not None:
            self._shared = made
        return made


def _one_less(_key: Any, _value: Any, count: int) -> int:
    return count - 1
