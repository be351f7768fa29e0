"""Global tables and global stores: each process has all rows of their topics."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from attrs import evolve

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, Missing
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.processors.views import TableView, stored_view
from kafka_groups.streams.state.stores import StoreDefinition, VersionedDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Operator, SourceNode

__all__ = ["GlobalKTable", "add_global_store", "add_global_table", "join_stream_with_global_table"]

K = TypeVar("K")
V = TypeVar("V")


class GlobalKTable(Generic[K, V]):
    """A table of which each process has all rows. Made by `StreamsBuilder.global_table`.

    Streams are joined with it by any key, and need not have the same number of partitions.
    """

    def __init__(self, graph: Graph, store: str, *, is_queryable: bool) -> None:
        self.graph = graph
        self._store = store
        self._is_queryable = is_queryable

    def __repr__(self) -> str:
        return f"<GlobalKTable {self._store}>"

    @property
    def store_name(self) -> str | None:
        """The name of the store that queries can read, or None."""
        return self._store if self._is_queryable else None

    @property
    def view(self) -> TableView:
        """Looks rows up. Any processor may read a global store, without being connected with it."""
        return evolve(stored_view(self._store), stores=())


def add_global_table(graph: Graph, source: SourceNode, options: StoreOptions, name: str | None) -> GlobalKTable[K, V]:
    """Add a global table of a topic.

    Raises:
        ConfigurationError: Its store is a versioned one.
    """
    if isinstance(options.store, VersionedDefinition):
        raise ConfigurationError(
            f"global_table: store={options.store.name!r} is a versioned store, which global tables cannot have. Define "
            "it with stores.key_value(…)."
        )
    is_named = options.store is not None
    default_name = "" if is_named else graph.new_store_name(f"{source.topics[0]}-")
    # A global table always has a store, since joins and queries read nothing else of it.
    definition = key_value_store(graph, "global_table", options, default_name, (source.key, source.value))
    operator = processors.TableSource(store=definition.name)
    _add(graph, definition, source, operator, name, follows_default=True)
    return GlobalKTable(graph, definition.name, is_queryable=is_named)


def add_global_store(
    graph: Graph, definition: StoreDefinition, source: SourceNode, operator: Operator, name: str | None = None
) -> None:
    """Add a global store, the source of its topic, and the processor of yours that fills it."""
    _add(graph, definition, source, operator, name, follows_default=False)


def _add(
    graph: Graph,
    definition: StoreDefinition,
    source: SourceNode,
    operator: Operator,
    name: str | None,
    *,
    follows_default: bool,
) -> None:
    generated = graph.new_name("KSTREAM-SOURCE-")
    named = evolve(source, name=generated if name is None else f"{name}-source")
    processor = graph.named(name, "KTABLE-SOURCE-")

    def write(topology: NodeGraph, _parents: tuple[str, ...]) -> None:
        topology.add_global_store(definition, named, processor, operator, follows_default=follows_default)

    graph.add(processor, write)


def join_stream_with_global_table(
    stream: StreamParts,
    table: GlobalKTable[Any, Any],
    joiner: "processors.KeyedJoiner",
    on: Callable[[Any, Any], Any] | None,
    *,
    keeps_unmatched: bool,
    name: str | None,
) -> StreamParts:
    """Add a join of a stream with a global table, and return the stream of its results.

    Raises:
        TypeError: There is no function that finds a row's key.
        TopologyError: The table is of another builder.
    """
    word = "left_join" if keeps_unmatched else "join"
    if on is None:
        raise TypeError(f"{word} with a global table needs `on=`, a function of key and value that finds a row's key.")
    check_functions(word, on=on)
    if table.graph is not stream.graph:
        raise TopologyError(
            f"{word} of {stream.node.name!r} with a table of another builder. Use one builder for both."
        )
    node_name = stream.graph.named(name, "KSTREAM-LEFTJOIN-")  # for both kinds, as in Java
    operator = processors.StreamTableJoin(table.view, joiner, keeps_unmatched, on)

    # A global table is in each process, so there is nothing to copartition, and no repartitioning before
    # (KStreamImpl.doGlobalTableJoin in Kafka).
    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_operator(node_name, operator, parents)

    node = stream.graph.add(node_name, write, stream.node, takes_null_keys=keeps_unmatched)
    return evolve(stream, node=node, value=Missing(word, "value"))
