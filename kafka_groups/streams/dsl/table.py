"""Tables: the last value of each key, and the operators on them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from attrs import evolve

from kafka_groups.serdes import Serde
from kafka_groups.streams.dsl.graph import Graph, GraphNode, Missing, Slot
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store
from kafka_groups.streams.processors.tables import TableFilter, TableMapValues, TableSource, TableToStream
from kafka_groups.streams.state.stores import KeyValueDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode

if TYPE_CHECKING:
    from kafka_groups.streams.dsl.stream import KStream

__all__ = ["KTable", "SendOldValues", "add_table_source"]

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")


class SendOldValues(Protocol):
    """Makes a table tell the old values of its changes."""

    def __call__(self, *, force: bool) -> bool:
        """Return whether it does. Unless forced, it makes no store for that."""


class KTable(Generic[K, V]):
    """A table: the last value of each key. Made by `StreamsBuilder.table`, `to_table` and aggregations."""

    def __init__(
        self,
        graph: Graph,
        node: GraphNode,
        sources: frozenset[str],
        serdes: tuple[Slot, Slot],
        send_old_values: SendOldValues,
        store: str | None,
    ) -> None:
        self._graph = graph
        self._node = node
        self._sources = sources
        self._key, self._value = serdes
        self.send_old_values = send_old_values
        self._store = store

    def __repr__(self) -> str:
        return f"<KTable {self._node.name}>"

    @property
    def store_name(self) -> str | None:
        """The name of the store that queries can read, or None."""
        return self._store

    def to_stream(self, *, name: str | None = None) -> "KStream[K, V]":
        """Return the updates of the table as records. A deleted row is a record with a null value."""
        from kafka_groups.streams.dsl.stream import KStream  # noqa: PLC0415, streams and tables become each other

        node_name = self._graph.named(name, "KTABLE-TOSTREAM-")

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(node_name, TableToStream(), parents)

        node = self._graph.add(node_name, write, self._node)
        return KStream(self._graph, node, self._sources, self._key, self._value)

    def filter(
        self,
        predicate: Callable[[K, V], object],
        *,
        name: str | None = None,
        store: str | KeyValueDefinition[K, V] | None = None,
        caching: bool | None = None,
    ) -> "KTable[K, V]":
        """Keep the rows for which a predicate of key and value is true."""
        return self._filtered(predicate, name, StoreOptions(store, caching), keeps=True)

    def filter_not(
        self,
        predicate: Callable[[K, V], object],
        *,
        name: str | None = None,
        store: str | KeyValueDefinition[K, V] | None = None,
        caching: bool | None = None,
    ) -> "KTable[K, V]":
        """Keep the rows for which a predicate of key and value is false."""
        return self._filtered(predicate, name, StoreOptions(store, caching), keeps=False)

    def map_values(
        self,
        function: Callable[[V], V2] | None = None,
        *,
        with_key: Callable[[K, V], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | KeyValueDefinition[K, V2] | None = None,
        caching: bool | None = None,
    ) -> "KTable[K, V2]":
        """Replace each value by a function of it, or of key and value."""
        slot: Slot = value if value is not None else Missing("map_values", "value")
        if isinstance(store, KeyValueDefinition):
            slot = store.value
        given = function
        if (function is None) == (with_key is None):
            raise TypeError("map_values takes a function of the value, or `with_key=`. Give one of them.")
        apply: Any = with_key if given is None else (lambda _key, old: given(old))
        return self._computed(
            "map_values", "KTABLE-MAPVALUES-", TableMapValues(apply), slot, StoreOptions(store, caching), name=name
        )

    def _filtered(self, predicate: Any, name: str | None, options: StoreOptions, *, keeps: bool) -> "KTable[K, V]":
        # Where old values are free, changes from nothing to nothing are dropped.
        operator = TableFilter(predicate, keeps=keeps, send_old=self.send_old_values(force=False))
        return self._computed("filter", "KTABLE-FILTER-", operator, self._value, options, name=name)

    def _computed(
        self,
        word: str,
        prefix: str,
        operator: TableFilter | TableMapValues,
        value: Slot,
        options: StoreOptions,
        *,
        name: str | None,
    ) -> "KTable[K, Any]":
        graph = self._graph
        definition = None
        if options.store is not None:
            definition = key_value_store(graph, word, options, "", (self._key, value))
            operator.store = definition.name
        node_name = graph.named(name, prefix)

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(node_name, operator, parents)
            if definition is not None:
                topology.add_state_store(definition, node_name)

        def send_old_values(*, force: bool) -> bool:
            if definition is not None or self.send_old_values(force=force):
                operator.send_old = True
            return operator.send_old

        node = graph.add(node_name, write, self._node)
        stored = None if definition is None else definition.name
        return KTable(graph, node, self._sources, (self._key, value), send_old_values, stored)


def add_table_source(graph: Graph, source: SourceNode, options: StoreOptions, *, name: str | None) -> KTable[Any, Any]:
    """Add a table that reads a topic."""
    topic = source.topics[0]
    is_named = options.store is not None
    default_name = "" if is_named else graph.new_store_name(f"{topic}-")
    definition = key_value_store(graph, "table", options, default_name, (source.key, source.value))
    source_name = (
        graph.new_name("KSTREAM-SOURCE-") if name is None else graph.named(f"{name}-source", "KSTREAM-SOURCE-")
    )
    table_name = graph.named(name, "KTABLE-SOURCE-")
    operator = TableSource(store=definition.name if is_named else None)

    def write(topology: NodeGraph, _parents: tuple[str, ...]) -> None:
        topology.add_node(evolve(source, name=source_name))
        topology.add_operator(table_name, operator, [source_name])
        if operator.store is not None:
            topology.add_state_store(definition, table_name)

    def send_old_values(*, force: bool) -> bool:
        if operator.store is None and force:
            operator.store = definition.name
        operator.send_old = operator.store is not None
        return operator.send_old

    node = graph.add(table_name, write)
    serdes = (definition.key, definition.value)
    return KTable(graph, node, frozenset({source_name}), serdes, send_old_values, operator.store)
