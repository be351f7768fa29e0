"""The entrance of the DSL."""

from typing import TypeVar

from kafka_groups.serdes import Serde
from kafka_groups.streams.dsl.graph import Graph
from kafka_groups.streams.dsl.materialized import StoreOptions
from kafka_groups.streams.dsl.stream import KStream
from kafka_groups.streams.dsl.table import KTable, add_table_source
from kafka_groups.streams.state.stores import KeyValueDefinition, StoreDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode, TimestampExtractor
from kafka_groups.streams.topology.topology import Topology

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
    """

    def __init__(self) -> None:
        self._graph = Graph()

    def stream(
        self,
        *topics: str,
        key: Serde[K],
        value: Serde[V],
        name: str | None = None,
        timestamp: TimestampExtractor | None = None,
        offset_reset: object = None,
    ) -> KStream[K, V]:
        """Read topics as a stream of records.

        Args:
            topics: One or more topics.
            key: The serde of keys.
            value: The serde of values.
            name: The source's name.
            timestamp: Overrides the application's timestamp extractor.
            offset_reset: Where to begin in a topic without committed offset.
        """
        node_name = self._graph.named(name, "KSTREAM-SOURCE-")

        def write(topology: NodeGraph, _parents: tuple[str, ...]) -> None:
            topology.add_node(
                SourceNode(
                    name=node_name,
                    topics=topics,
                    key=key,
                    value=value,
                    timestamp=timestamp,
                    offset_reset=offset_reset,
                )
            )

        node = self._graph.add(node_name, write)
        return KStream(self._graph, node, frozenset({node_name}), key, value)

    def table(
        self,
        topic: str,
        *,
        key: Serde[K],
        value: Serde[V],
        name: str | None = None,
        store: str | KeyValueDefinition[K, V] | None = None,
        timestamp: TimestampExtractor | None = None,
        caching: bool | None = None,
    ) -> KTable[K, V]:
        """Read a topic as a table: the last value of each key. Null values delete their rows.

        Args:
            topic: The topic.
            key: The serde of keys.
            value: The serde of values.
            name: The source's name.
            store: A name or definition of the table's store, to query it. Without one, the table has a store only if
                an operator needs it.
            timestamp: Overrides the application's timestamp extractor.
            caching: False to forward every update.
        """
        source = SourceNode(name="", topics=(topic,), key=key, value=value, timestamp=timestamp)
        return add_table_source(self._graph, source, StoreOptions(store, caching), name=name)

    def add_state_store(self, definition: StoreDefinition) -> None:
        """Add a store for processors."""

        def write(topology: NodeGraph, _parents: tuple[str, ...]) -> None:
            topology.add_state_store(definition)

        self._graph.add(definition.name, write)

    def build(self) -> Topology:
        """Return the topology.

        Raises:
            TopologyError: There is a mistake. The message names the operator and what to change.
        """
        return Topology(self._graph.build())
