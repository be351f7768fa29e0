"""The topology of an application, as users build and see it."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Self

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.serdes import Serde
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.context import Processor
from kafka_groups.streams.topology.description import describe
from kafka_groups.streams.topology.drawing import has_graphviz, to_dot, to_mermaid, to_svg
from kafka_groups.streams.topology.internal_topics import group_topology
from kafka_groups.streams.topology.matched_topics import matching
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import (
    OffsetReset,
    Partitioner,
    ProcessorNode,
    SinkNode,
    SourceNode,
    TimestampExtractor,
    TopicName,
)
from kafka_groups.streams.topology.records import Record
from kafka_groups.streams.topology.topology_arguments import listed, listed_stores, names_or_pattern
from kafka_groups.streams.topology.user_processors import user_operator

__all__ = ["Topology"]


class Topology:
    """Sources, processors, sinks and stores, each with a name of its own.

    `StreamsBuilder` makes one from its operators. You can also build one node by node, or add nodes to what a builder
    made.

    ```python
    topology = (
        Topology()
        .add_source("posts", "posts", key=serdes.string, value=serdes.string)
        .add_processor("shout", shout, parents=["posts"])
        .add_sink("loud", "loud-posts", parents=["shout"], key=serdes.string, value=serdes.string)
    )
    ```

    Attributes:
        graph: Its nodes and stores.
    """

    def __init__(self, graph: NodeGraph | None = None) -> None:
        self.graph = NodeGraph() if graph is None else graph

    def __repr__(self) -> str:
        return f"<Topology: {len(self.graph.nodes)} nodes, {len(self.graph.stores)} stores>"

    def __str__(self) -> str:
        return self.describe()

    def add_source(
        self,
        name: str,
        *topics: str | re.Pattern[str],
        key: Serde[Any],
        value: Serde[Any],
        timestamp: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
    ) -> Self:
        """Add a source that reads topics, and return the topology.

        Args:
            name: The node's name.
            topics: One or more topics. Or one compiled regular expression, for all topics whose whole names it matches:
                see `StreamsBuilder.stream`. No other source may read them.
            key: The serde of keys.
            value: The serde of values.
            timestamp: Overrides the application's timestamp extractor.
            offset_reset: Where to begin in a partition without committed offset: "earliest", "latest", a timedelta
                to begin so long ago, or "none" to fail. None: as the application says.

        Raises:
            TopologyError: A name is taken, a topic is read already, or `offset_reset` is none of these.
        """
        names, pattern = names_or_pattern(f"Source {name!r}", topics)
        self.graph.add_node(
            SourceNode(
                name=name,
                pattern=pattern,
                topics=names,
                key=key,
                value=value,
                timestamp=timestamp,
                offset_reset=offset_reset,
            )
        )
        return self

    def add_processor(
        self,
        name: str,
        function: Callable[..., Iterable[Record[Any, Any]] | None] | None = None,
        *,
        factory: Callable[[], Processor[Any, Any, Any, Any]] | None = None,
        parents: Iterable[str],
        stores: Iterable[StoreDefinition | str] = (),
    ) -> Self:
        """Add a processor of your own, and return the topology.

        Args:
            name: The node's name.
            function: Gets a record and the stores, and returns or yields the records to pass on.
            factory: Makes a `Processor` for each task, in place of a function.
            parents: Names of the nodes whose records it gets.
            stores: The stores that it uses: definitions, which are added, or names of stores that exist.

        Raises:
            TopologyError: The name is taken, or a parent or a store does not exist.
            TypeError: You gave both a function and a factory, or neither, or one name where a list belongs.
        """
        used = listed_stores(f"Processor {name!r}", stores)
        names = tuple(each if isinstance(each, str) else each.name for each in used)
        operator = user_operator(f"Processor {name!r}", function, factory, names)
        above = listed(f"Processor {name!r}", "parents", parents)
        self.graph.add_node(ProcessorNode(name=name, parents=above, operator=operator))
        for each in used:
            if isinstance(each, StoreDefinition):
                self.graph.add_state_store(each)
        self.graph.connect(name, *names)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | TopicName,
        *,
        parents: Iterable[str],
        key: Serde[Any],
        value: Serde[Any],
        partitioner: Partitioner | None = None,
    ) -> Self:
        """Add a sink that writes records to a topic, and return the topology.

        Args:
            name: The node's name.
            topic: The topic, or a function of key, value and context that returns it.
            parents: Names of the nodes whose records it gets.
            key: The serde of keys.
            value: The serde of values.
            partitioner: A function of topic, key, value and number of partitions.

        Raises:
            TopologyError: The name is taken, or a parent does not exist.
        """
        above = listed(f"Sink {name!r}", "parents", parents)
        self.graph.add_node(
            SinkNode(name=name, parents=above, topic=topic, key=key, value=value, partitioner=partitioner)
        )
        return self

    def add_state_store(self, definition: StoreDefinition, *processors: str) -> Self:
        """Add a store, connect it with processors, and return the topology.

        Args:
            definition: The store, from `stores`.
            processors: Names of the processors that use it. They come into one sub-topology.

        Raises:
            TopologyError: There is another store of this name, or a processor does not exist.
        """
        self.graph.add_state_store(definition, *processors, follows_default=False)
        return self

    def add_global_store(  # noqa: PLR0913 - all but the first three by keyword
        self,
        definition: StoreDefinition,
        topic: str,
        function: Callable[..., Iterable[Record[Any, Any]] | None] | None = None,
        *,
        factory: Callable[[], Processor[Any, Any, Any, Any]] | None = None,
        source: str,
        processor: str,
        key: Serde[Any],
        value: Serde[Any],
        timestamp: TimestampExtractor | None = None,
    ) -> Self:
        """Add a store that each process fills from all of a topic, and return the topology.

        Every processor can read it, and only this one can change it. It has no changelog but the topic.

        Args:
            definition: The store, from `stores`.
            topic: The topic.
            function: Gets a record and the store, and puts into the store what it keeps of the record.
            factory: Makes a `Processor` that fills the store, in place of a function.
            source: The name of the node that reads the topic.
            processor: The name of the node that fills the store.
            key: The serde of the topic's keys.
            value: The serde of the topic's values.
            timestamp: Overrides the application's timestamp extractor.

        Raises:
            TopologyError: A name is taken, or the topic is read already.
            TypeError: You gave both a function and a factory, or neither.
        """
        operator = user_operator(f"Processor {processor!r}", function, factory, (definition.name,))
        node = SourceNode(name=source, topics=(topic,), key=key, value=value, timestamp=timestamp)
        self.graph.add_global_store(definition, node, processor, operator)
        return self

    def add_read_only_state_store(  # noqa: PLR0913 - all but the first three by keyword
        self,
        definition: StoreDefinition,
        topic: str,
        function: Callable[..., Iterable[Record[Any, Any]] | None] | None = None,
        *,
        factory: Callable[[], Processor[Any, Any, Any, Any]] | None = None,
        source: str,
        processor: str,
        key: Serde[Any],
        value: Serde[Any],
        timestamp: TimestampExtractor | None = None,
    ) -> Self:
        """Add a store that a processor fills from a topic, which is its changelog, too (KIP-813). Return the topology.

        Other processors are connected with it by name, and must not change it.

        Args:
            definition: The store, from `stores`.
            topic: The topic. It should be compacted.
            function: Gets a record and the store, and puts the record into the store.
            factory: Makes a `Processor` that fills the store, in place of a function.
            source: The name of the node that reads the topic.
            processor: The name of the node that fills the store.
            key: The serde of the topic's keys.
            value: The serde of the topic's values.
            timestamp: Overrides the application's timestamp extractor.

        Raises:
            TopologyError: A name is taken, or the topic is read already.
            TypeError: You gave both a function and a factory, or neither.
        """
        operator = user_operator(f"Processor {processor!r}", function, factory, (definition.name,))
        self.add_source(source, topic, key=key, value=value, timestamp=timestamp)
        self.graph.add_node(ProcessorNode(name=processor, parents=(source,), operator=operator))
        # The topic is a source of the task, too, so new records come through the processor. Only the restoration reads
        # it directly, as for a table whose source topic is its changelog.
        self.graph.add_state_store(definition, processor, source_topic=topic)
        return self

    def connect(self, processor: str, *stores: str) -> Self:
        """Connect a processor with stores, and return the topology.

        Raises:
            TopologyError: The processor or a store does not exist.
        """
        self.graph.connect(processor, *stores)
        return self

    def describe(self) -> str:
        """Return the topology as text, as Kafka Streams' `Topology.describe()` prints it."""
        return describe(self.graph)

    def to_mermaid(self) -> str:
        """Return the topology as a Mermaid flowchart."""
        return to_mermaid(self.graph)

    def to_dot(self) -> str:
        """Return the topology in the language of Graphviz."""
        return to_dot(self.graph)

    def to_svg(self) -> str:
        """Return the topology as an SVG picture. Blocks while Graphviz runs, up to a minute.

        Raises:
            StreamsError: Graphviz is not installed, or failed.
        """
        return to_svg(self.graph)

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        """Return what a notebook shows: a picture, and the text for those that can't."""
        shown = {"text/plain": self.describe(), "text/vnd.mermaid": self.to_mermaid()}
        return {**shown, "image/svg+xml": self.to_svg()} if has_graphviz() else shown

    @property
    def has_patterns(self) -> bool:
        """True if a source reads all topics whose names match a pattern."""
        return bool(self.graph.patterns)

    def group_topology(self, application_id: str, topics: Iterable[str] | None = None) -> GroupTopology:
        """Return what the members of the application's streams group tell their coordinator (KIP-1071).

        Args:
            application_id: Prefix of the internal topics.
            topics: Topics that exist, of which the patterns of the topology read those that they match. None: the
                topology must not have patterns, as streams groups do not know any.

        Raises:
            TopologyError: The topology is empty or contradicts itself, or has patterns.
        """
        if topics is not None:
            return group_topology(matching(self.graph, application_id, topics), application_id)
        for name, source in self.graph.patterns.items():
            raise TopologyError(
                f"Source {name!r} reads the topics that match {source.pattern}. Name those that exist: "
                f"group_topology({application_id!r}, topics=[…])."
            )
        return group_topology(self.graph, application_id)
