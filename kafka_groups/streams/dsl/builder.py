"""The entrance of the DSL."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from kafka_groups.serdes import Serde
from kafka_groups.streams.dsl.global_table import GlobalKTable, add_global_store, add_global_table
from kafka_groups.streams.dsl.graph import Graph, GraphNode
from kafka_groups.streams.dsl.materialized import StoreOptions
from kafka_groups.streams.dsl.merged_repartitions import merge_repartitions
from kafka_groups.streams.dsl.merged_sources import StreamSource, merge_sources
from kafka_groups.streams.dsl.optimization import Optimization
from kafka_groups.streams.dsl.repartition import keep_null_keys
from kafka_groups.streams.dsl.stream import KStream
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.table import KTable, add_table_source
from kafka_groups.streams.state.stores import Changelog, KeyValueDefinition, StoreDefinition, TableDefinition
from kafka_groups.streams.topology.context import Processor
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import OffsetReset, SourceNode, TimestampExtractor
from kafka_groups.streams.topology.records import Record
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.streams.topology.topology_arguments import check_kind, names_or_pattern
from kafka_groups.streams.topology.user_processors import user_operator

__all__ = ["StreamsBuilder"]

K = TypeVar("K")
V = TypeVar("V")


class StreamsBuilder:
    """Builds a topology from streams and tables.

    ```python
    builder = StreamsBuilder()
    posts = builder.stream("posts", key=serdes.string, value=serdes.string)
    posts.map_values(str.upper).to("loud-posts")
    topology = builder.build()
    ```

    Args:
        optimization: What to build with fewer topics or stores: nothing, or any members of `Optimization`.
        explicit_names: Whether `build` refuses stores and repartition topics without a name of yours. Generated names
            change when an operator is added above, and the state is lost.
    """

    def __init__(self, *, optimization: Optimization = Optimization.NONE, explicit_names: bool = False) -> None:
        if not isinstance(optimization, Optimization):
            raise TypeError(
                f"optimization={optimization!r} is not an Optimization. Give one, such as Optimization.ALL."
            )
        self._graph = Graph(optimization=optimization, explicit_names=explicit_names)

    def stream(
        self,
        *topics: str | re.Pattern[str],
        key: Serde[K],
        value: Serde[V],
        name: str | None = None,
        timestamp: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
    ) -> KStream[K, V]:
        """Read topics as a stream of records.

        Streams of the same topics, or of the same pattern, share one source: that of the first call, with its name.

        ```python
        orders = builder.stream(re.compile(r"orders-.+"), key=serdes.string, value=serdes.json)
        ```

        Args:
            topics: One or more topics. Or one compiled regular expression: all topics whose whole names it matches,
                also those that are created later, but for internal ones of Kafka. It needs `group_protocol="classic"`.
                No other source may read such a topic.
            key: The serde of keys.
            value: The serde of values.
            name: The source's name.
            timestamp: Overrides the application's timestamp extractor.
            offset_reset: Where to begin in a partition without committed offset: "earliest", "latest", a timedelta
                to begin so long ago, or "none" to fail. None: as the application says.
        """
        node_name = self._graph.named(name, "KSTREAM-SOURCE-")
        names, pattern = names_or_pattern("stream", topics)
        source = SourceNode(
            name=node_name,
            pattern=pattern,
            topics=names,
            key=key,
            value=value,
            timestamp=timestamp,
            offset_reset=offset_reset,
        )
        node = self._graph.add_node(StreamSource(source))
        sources = frozenset({node_name})
        return KStream(StreamParts(graph=self._graph, node=node, sources=sources, key=key, value=value))

    def table(
        self,
        topic: str,
        *,
        key: Serde[K],
        value: Serde[V],
        name: str | None = None,
        store: str | TableDefinition[K, V] | None = None,
        timestamp: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, V]:
        """Read a topic as a table: the last value of each key. Null values delete their rows.

        Args:
            topic: The topic.
            key: The serde of keys.
            value: The serde of values.
            name: The source's name.
            store: A name or definition of the table's store, to query it. Without one, the table has a store only if
                an operator needs it. A versioned one lets streams be joined with the rows as of their records' times.
            timestamp: Overrides the application's timestamp extractor.
            offset_reset: Where to begin in a partition without committed offset: "earliest", "latest", a timedelta
                to begin so long ago, or "none" to fail. None: as the application says.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        source = SourceNode(
            name="", topics=(topic,), key=key, value=value, timestamp=timestamp, offset_reset=offset_reset
        )
        return add_table_source(self._graph, source, StoreOptions(store, caching, changelog), name=name)

    def global_table(
        self,
        topic: str,
        *,
        key: Serde[K],
        value: Serde[V],
        name: str | None = None,
        store: str | KeyValueDefinition[K, V] | None = None,
        timestamp: TimestampExtractor | None = None,
    ) -> GlobalKTable[K, V]:
        """Read a topic as a table of which each process has all rows. Null values delete their rows.

        Args:
            topic: The topic. Records with null keys are dropped.
            key: The serde of keys.
            value: The serde of values.
            name: The name of the processor, and the beginning of the source's.
            store: A name or definition of the table's store, to query it. It has no changelog but the topic.
            timestamp: Overrides the application's timestamp extractor.
        """
        source = SourceNode(name="", topics=(topic,), key=key, value=value, timestamp=timestamp)
        return add_global_table(self._graph, source, StoreOptions(store, caching=False), name)

    def add_global_store(
        self,
        definition: StoreDefinition,
        topic: str,
        function: Callable[..., Iterable[Record[Any, Any]] | None] | None = None,
        *,
        factory: Callable[[], Processor[K, V, Any, Any]] | None = None,
        key: Serde[K],
        value: Serde[V],
        timestamp: TimestampExtractor | None = None,
    ) -> None:
        """Add a store that each process fills from all of a topic, by a processor of yours.

        Every processor can read it, and only this one can change it. It has no changelog but the topic.

        Args:
            definition: The store, from `stores`.
            topic: The topic.
            function: Gets a record and the store, and puts into the store what it keeps of the record.
            factory: Makes a `Processor` that fills the store, in place of a function.
            key: The serde of the topic's keys.
            value: The serde of the topic's values.
            timestamp: Overrides the application's timestamp extractor.

        Raises:
            TypeError: You gave both a function and a factory, or neither.
        """
        operator = user_operator("add_global_store", function, factory, (definition.name,))
        source = SourceNode(name="", topics=(topic,), key=key, value=value, timestamp=timestamp)
        add_global_store(self._graph, definition, source, operator)

    def add_state_store(self, definition: StoreDefinition) -> None:
        """Add a store for processors."""
        check_kind(
            "add_state_store: definition", definition, StoreDefinition, "the definition of a store, from `stores`"
        )

        def write(topology: NodeGraph, _parents: tuple[str, ...]) -> None:
            topology.add_state_store(definition, follows_default=False)

        self._graph.add(definition.name, write)

    def build(self) -> Topology:
        """Return the topology.

        Raises:
            TopologyError: There is a mistake. The message names the operator and what to change.
        """
        return Topology(self._graph.build(self._rewritten))

    def _rewritten(self, nodes: list[GraphNode]) -> list[GraphNode]:
        """Return the operators as they are written. The order of the steps is Java's (`buildAndOptimizeTopology`)."""
        nodes = merge_sources(nodes)
        # The two other optimizations are decided where the operators are written.
        if Optimization.MERGED_REPARTITIONS in self._graph.optimization:
            nodes = merge_repartitions(nodes)
        keep_null_keys(nodes)
        return nodes
