"""The nodes and stores of a topology."""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Self

from attrs import evolve, frozen

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.nodes import (
    OffsetReset,
    Operator,
    ProcessorNode,
    SinkNode,
    SourceNode,
    TopologyNode,
)
from kafka_groups.streams.topology.topology_arguments import check_kind

__all__ = ["NodeGraph", "RepartitionSpec", "TopologyStore"]


@frozen
class RepartitionSpec:
    """A repartition topic of a topology.

    Attributes:
        partitions: Its number of partitions, or None to derive it from the topics that flow into it.
    """

    partitions: int | None = None


@frozen(kw_only=True)
class TopologyStore:
    """A store of a topology.

    Attributes:
        definition: The store.
        users: Names of the processors that are connected with it.
        source_topic: The topic that is read in place of a changelog: that of a global table, or of a table whose source
            serves as its changelog.
        is_global: Whether every process has all of it.
        follows_default: Whether `default_dsl_store` decides if its definition does not. Stores of your own processors
            are in memory then.
    """

    definition: StoreDefinition
    users: tuple[str, ...] = ()
    source_topic: str | None = None
    is_global: bool = False
    follows_default: bool = True


def _resolved(place: TopologyStore, is_persistent: bool) -> TopologyStore:  # noqa: FBT001
    definition = place.definition
    if definition.persistent is not None:
        return place
    return evolve(place, definition=evolve(definition, persistent=is_persistent and place.follows_default))


class NodeGraph:
    """The nodes and stores of a topology, and how they are connected."""

    def __init__(self) -> None:
        self._nodes: dict[str, TopologyNode] = {}
        self._stores: dict[str, TopologyStore] = {}
        self._stores_of: dict[str, list[str]] = {}
        self._repartition: dict[str, RepartitionSpec] = {}
        self._copartitioned: list[tuple[str, ...]] = []
        self._replaced: dict[str, str] = {}
        self._stand_ins: dict[str, tuple[str, ...]] = {}
        self._global_nodes: set[str] = set()

    @property
    def nodes(self) -> Mapping[str, TopologyNode]:
        """The nodes by name, in the order in which they were added."""
        return self._nodes

    @property
    def stores(self) -> Mapping[str, TopologyStore]:
        """The stores by name, in the order in which they were added."""
        return self._stores

    @property
    def repartition_topics(self) -> Mapping[str, RepartitionSpec]:
        """The repartition topics by name, without the application's prefix."""
        return self._repartition

    @property
    def copartitioned(self) -> tuple[tuple[str, ...], ...]:
        """Groups of source nodes whose topics need the same number of partitions."""
        return tuple(tuple(dict.fromkeys(self._sources_behind(group))) for group in self._copartitioned)

    @property
    def told_copartitioned(self) -> tuple[tuple[str, ...], ...]:
        """The groups that the members of a streams group tell the brokers: without sources that have stand-ins.

        Kafka Streams loses these, and brokers refuse members whose topologies differ.
        """
        # InternalTopologyBuilder.maybeUpdateCopartitionSourceGroups in Kafka renames sources that an optimization has
        # replaced.
        groups = ((self._replaced.get(name, name) for name in group) for group in self._copartitioned)
        return tuple(tuple(dict.fromkeys(name for name in group if name not in self._stand_ins)) for group in groups)

    @property
    def offset_resets(self) -> Mapping[str, OffsetReset]:
        """The offset resets of the topics whose sources have one."""
        sources = (node for node in self._nodes.values() if isinstance(node, SourceNode))
        return {topic: node.offset_reset for node in sources if node.offset_reset is not None for topic in node.topics}

    @property
    def patterns(self) -> Mapping[str, SourceNode]:
        """The sources that read topics by patterns, by name."""
        sources = {name: node for name, node in self._nodes.items() if isinstance(node, SourceNode)}
        return {name: node for name, node in sources.items() if node.pattern is not None}

    def reading(self, topics: Mapping[str, Iterable[str]]) -> Self:
        """Return the same topology, some patterns of which are known to match topics.

        Args:
            topics: The topics by the names of sources.
        """
        known = copy(self)
        matched = {name: evolve(self.patterns[name], topics=tuple(its)) for name, its in topics.items()}
        known._nodes = {**self._nodes, **matched}
        return known

    def add_operator(self, name: str, operator: Operator, parents: Iterable[str], stores: Iterable[str] = ()) -> Self:
        """Add a processor that does what an operator says. `add_processor` adds your own."""
        self.add_node(ProcessorNode(name=name, parents=tuple(parents), operator=operator))
        return self.connect(name, *stores)

    def add_state_store(
        self,
        definition: StoreDefinition,
        *processors: str,
        source_topic: str | None = None,
        follows_default: bool = True,
    ) -> Self:
        """Add a store, connect it with processors, and return the topology.

        Args:
            definition: The store, from `stores`.
            processors: Names of the processors that use it. They come into one sub-topology.
            source_topic: A source topic that serves as the store's changelog.
            follows_default: Whether `default_dsl_store` decides if the definition does not.

        Raises:
            TopologyError: There is another store of this name, or a processor does not exist.
        """
        check_kind(
            "add_state_store: definition", definition, StoreDefinition, "the definition of a store, from `stores`"
        )
        known = self._stores.get(definition.name)
        # The same definition may be added at several places. An equal one is not the same: two stores that only look
        # alike would be merged silently (InternalTopologyBuilder.addStateStore in Kafka compares builders in the same
        # way).
        if known is not None and known.definition is not definition:
            raise TopologyError(
                f"There are two stores {definition.name!r}. Give each a name of its own. To use one in several places, "
                f"give all of them the same definition, or its name: stores=({definition.name!r},)."
            )
        if known is None:
            self._stores[definition.name] = TopologyStore(
                definition=definition, source_topic=source_topic, follows_default=follows_default
            )
        for processor in processors:
            self.connect(processor, definition.name)
        return self

    def add_global_store(
        self,
        definition: StoreDefinition,
        source: SourceNode,
        processor: str,
        operator: Operator,
        *,
        follows_default: bool = False,
    ) -> Self:
        """Add a store of which every process has all, with the nodes that fill it, and return the topology.

        Args:
            definition: The store, from `stores`.
            source: The node that reads the store's topic.
            processor: The name of the processor that fills the store.
            operator: Its work.
            follows_default: Whether `default_dsl_store` decides if the definition does not.

        Raises:
            TopologyError: A name is taken, or the topic is read already.
        """
        if definition.name in self._stores:
            raise TopologyError(f"There are two stores {definition.name!r}. Give each a name of its own.")
        self.add_node(source)
        self.add_node(ProcessorNode(name=processor, parents=(source.name,), operator=operator))
        self._stores[definition.name] = TopologyStore(
            definition=definition,
            users=(processor,),
            source_topic=source.topics[0],
            is_global=True,
            follows_default=follows_default,
        )
        self._stores_of[processor] = [definition.name]
        return self

    def with_default_store(self, *, is_persistent: bool) -> Self:
        """Return the same topology, in which each store says whether it is on disk.

        Args:
            is_persistent: Whether stores of operators are whose definitions do not say.
        """
        resolved = copy(self)
        resolved._stores = {name: _resolved(place, is_persistent) for name, place in self._stores.items()}
        return resolved

    def connect(self, processor: str, *stores: str) -> Self:
        """Connect a processor with stores, and return the topology.

        Raises:
            TopologyError: The processor or a store does not exist.
        """
        if not isinstance(self._nodes.get(processor), ProcessorNode):
            raise TopologyError(f"There is no processor {processor!r} to connect stores with. Add it first.")
        for name in stores:
            self._connect(processor, name)
        return self

    def add_repartition_topic(self, name: str, partitions: int | None) -> None:
        """Add a topic of the application's own, through which records change their partition."""
        self._repartition[name] = RepartitionSpec(partitions)

    def copartition(self, sources: Iterable[str]) -> None:
        """Note source nodes whose topics need the same number of partitions."""
        self._copartitioned.append(tuple(sources))

    def replace_source(self, name: str, source: str) -> None:
        """Note that a source stands in the place of one that is named elsewhere."""
        self._replaced[name] = source

    def stand_in(self, name: str, sources: Iterable[str]) -> None:
        """Note a name under which operators further down know sources, although it is that of no source."""
        self._stand_ins[name] = tuple(sources)

    def add_node(self, node: TopologyNode) -> Self:
        """Add a node after its parents."""
        for parent in node.parents:
            if parent not in self._nodes:
                raise TopologyError(f"{node.name!r} has the parent {parent!r}, which does not exist. Add it first.")
            # A sink gives no records to anybody: what follows from its topic reads that topic (SinkNode.addChild in
            # Kafka refuses children, too).
            if isinstance(self._nodes[parent], SinkNode):
                raise TopologyError(
                    f"{node.name!r} has the parent {parent!r}, which is a sink. Sinks have no children."
                )
        # InternalTopologyBuilder.addProcessor and addSink in Kafka refuse this, too.
        if not node.parents and not isinstance(node, SourceNode):
            raise TopologyError(f"{node.name!r} has no parents, so it gets no records. Name at least one.")
        if isinstance(node, SourceNode):
            self._check_topics(node)
        return self._add(node)

    def stores_of(self, processor: str) -> tuple[str, ...]:
        """Return the names of the stores that a processor is connected with, in the order of the connections."""
        return tuple(self._stores_of.get(processor, ()))

    def children_of(self) -> dict[str, list[TopologyNode]]:
        """Return the children of each node."""
        children: dict[str, list[TopologyNode]] = {name: [] for name in self._nodes}
        for node in self._nodes.values():
            for parent in node.parents:
                children[parent].append(node)
        return children

    def _sources_behind(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            # A stand-in may stand for others, as with a suppressed table that is joined.
            if name in self._stand_ins:
                yield from self._sources_behind(self._stand_ins[name])
            else:
                yield self._replaced.get(name, name)

    def _add(self, node: TopologyNode) -> Self:
        if not node.name:
            raise TopologyError("A node has an empty name. Give it one, or leave the name out.")
        if node.name in self._nodes:
            raise TopologyError(f"There are two nodes {node.name!r}. Give each a name of its own.")
        self._nodes[node.name] = node
        return self

    def _connect(self, processor: str, store: str) -> None:
        place = self._stores.get(store)
        if place is None:
            raise TopologyError(
                f"Processor {processor!r} uses the store {store!r}, which does not exist. Add it first."
            )
        # Every processor may read a global store; to be connected with one would make it a part of its sub-topology.
        if processor not in place.users and not place.is_global:
            users = (*place.users, processor)
            self._stores_of.setdefault(processor, []).append(store)
            self._stores[store] = TopologyStore(
                definition=place.definition, users=users, source_topic=place.source_topic, is_global=place.is_global
            )

    def _check_topics(self, source: SourceNode) -> None:
        # InternalTopologyBuilder.validateTopicNotAlreadyRegistered in Kafka: records of a topic go to one queue of a
        # task, so there is one source for it.
        for node in self._nodes.values():
            if not isinstance(node, SourceNode):
                continue
            _check_patterns(source, node)
            for topic in node.topics:
                if topic in source.topics:
                    raise TopologyError(
                        f"Source {source.name!r} reads topic {topic!r}, which {node.name!r} reads already. Read it "
                        "once, and use its stream twice."
                    )


def _check_patterns(one: SourceNode, other: SourceNode) -> None:
    """Refuse a pattern that matches a topic of another source. Two patterns may have topics in common only later."""
    # Java accepts a pattern that matches a global topic if the pattern comes second, and two nodes with one pattern
    # (InternalTopologyBuilder.addSource), and then reads the topics in one of them.
    if one.pattern is not None and one.pattern == other.pattern:
        raise TopologyError(
            f"Sources {one.name!r} and {other.name!r} both read the topics that match {one.pattern.pattern!r}. Read "
            "them once, and use the stream twice."
        )
    for source, reader in ((one, other), (other, one)):
        for topic in filter(source.matches, reader.topics):
            pattern = "" if source.pattern is None else source.pattern.pattern
            raise TopologyError(
                f"Source {source.name!r} reads all topics that match {pattern!r}, and with them topic {topic!r}, which "
                f"{reader.name!r} reads. A topic has one source: change the pattern."
            )
