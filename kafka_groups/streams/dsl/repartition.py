"""Repartition topics: a filter of null keys, a sink and a source."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import Attribute, field, frozen

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError, check_topic_name
from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, GraphNode
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Partitioner, ProcessorNode, SinkNode, SourceNode

__all__ = ["Repartition", "RepartitionNode", "add_repartition", "keep_null_keys"]

_SUFFIX = "-repartition"
_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")  # other prefixes give their names to the nodes, as in Java


_MAX_PARTITIONS = 2**31 - 1


def _count(_given: object, _attribute: "Attribute[int | None]", partitions: object) -> None:
    if partitions is None:
        return
    if isinstance(partitions, bool) or not isinstance(partitions, int):
        raise TypeError(f"repartition: partitions={partitions!r} is not a number. Give an int, or leave it out.")
    if not 1 <= partitions <= _MAX_PARTITIONS:
        raise TopologyError(
            f"repartition: partitions={partitions!r} is not from 1 to {_MAX_PARTITIONS}. Leave it out to derive it "
            "from the topics that flow in."
        )


def _partitioner(_given: object, _attribute: object, partitioner: Any) -> None:
    check_functions("repartition", partitioner=partitioner)


def _prefix(_given: object, _attribute: object, prefix: Any) -> None:
    check_topic_name("A repartition topic", prefix)


@frozen(kw_only=True)
class Repartition:
    """The options of a repartition topic.

    Attributes:
        prefix: The topic's name without its suffix.
        key: The serde of keys.
        value: The serde of values.
        partitions: The number of partitions, or None to derive it.
        partitioner: Overrides the default partitioner.
        is_implied: Whether an operator needs it that could share it with others.
    """

    prefix: str = field(validator=_prefix)
    key: Serde[Any]
    value: Serde[Any]
    partitions: int | None = field(default=None, validator=_count)
    partitioner: Partitioner | None = field(default=None, validator=_partitioner)
    is_implied: bool = False

    @property
    def topic(self) -> str:
        """The topic's name without the application's prefix."""
        # As in KStreamImpl.createRepartitionedSource in Kafka, a name that ends with the suffix already does not get it
        # twice.
        return self.prefix if self.prefix.endswith(_SUFFIX) else self.prefix + _SUFFIX


@frozen
class _RepartitionNames:
    """The names of the nodes of a repartition topic."""

    null_filter: str
    sink: str
    source: str

    @classmethod
    def after(cls, topic: str) -> "_RepartitionNames":
        return cls(f"{topic}-filter", f"{topic}-sink", f"{topic}-source")


class RepartitionNode(GraphNode):
    """A repartition topic: a filter of null keys, a sink and a source.

    Attributes:
        is_implied: Whether an operator needs it that could share it with others.
        keeps_null_keys: Whether records with null keys get through.
    """

    def __init__(
        self, given: Repartition, names: _RepartitionNames, parent: GraphNode, stands_for: Iterable[str] = ()
    ) -> None:
        super().__init__(names.source, self._write, (parent,))
        self.is_implied = given.is_implied
        self.keeps_null_keys = False
        self._given = given
        self._names = names
        self._stands_for = tuple(stands_for)
        self._other_names: dict[str, None] = {}

    def below(self, parents: Iterable[GraphNode]) -> "RepartitionNode":
        """Return the same topic below another operator."""
        (parent,) = parents
        return self._renamed(RepartitionNode(self._given, self._names, parent, self._stands_for), (self,))

    def shared(self, parent: GraphNode, group: Iterable["RepartitionNode"]) -> "RepartitionNode":
        """Return a topic of the same name that stands for those of a group. Its nodes have its name, as in Java."""
        names = _RepartitionNames.after(self._given.topic)
        shared = RepartitionNode(self._given, names, parent, [node.name for node in group])
        return self._renamed(shared, group)

    def serves(self, given: Repartition) -> bool:
        """Return whether another operator can use this topic, too, because it asks for the same."""
        return self.is_implied and given.is_implied and self._given.topic == given.topic

    def known_as(self, source: str) -> None:
        """Note the name under which another operator that uses this topic knows its source."""
        if source != self.name:
            self._other_names[source] = None

    @staticmethod
    def _renamed(made: "RepartitionNode", group: Iterable["RepartitionNode"]) -> "RepartitionNode":
        for node in group:
            made._other_names |= node._other_names
        return made

    def _write(self, topology: NodeGraph, parents: tuple[str, ...]) -> None:
        given, names = self._given, self._names
        topology.add_repartition_topic(given.topic, given.partitions)
        # The node is there in both cases, because Java has it, and its name takes an index (KIP-962).
        null_filter = processors.PassThrough() if self.keeps_null_keys else processors.DropNullKeys()
        topology.add_node(ProcessorNode(name=names.null_filter, parents=parents, operator=null_filter))
        topology.add_node(
            SinkNode(
                name=names.sink,
                parents=(names.null_filter,),
                topic=given.topic,
                key=given.key,
                value=given.value,
                partitioner=given.partitioner,
            )
        )
        topology.add_node(SourceNode(name=names.source, topics=(given.topic,), key=given.key, value=given.value))
        for name in self._stands_for:
            topology.replace_source(name, names.source)
        for name in self._other_names:
            topology.stand_in(name, (names.source,))


def add_repartition(graph: Graph, parent: GraphNode, given: Repartition) -> tuple[GraphNode, str]:
    """Add a repartition topic below an operator. Return the node of its source, and the name that its user has for it.

    Operators that need the same topic of one stream share it, as in Java. Each takes three indices nevertheless, and
    knows the source by a name of its own.
    """
    # Three indices are taken in any case, and a prefix that was generated gives generated names to the nodes, but
    # another one gives its own (KStreamImpl.createRepartitionedSource).
    sink, null_filter, source = (graph.new_name(f"KSTREAM-{kind}-") for kind in ("SINK", "FILTER", "SOURCE"))
    is_generated = _GENERATED.fullmatch(given.prefix)
    names = _RepartitionNames(null_filter, sink, source) if is_generated else _RepartitionNames.after(given.topic)
    for node in graph.children_of(parent):
        # Operators on one stream that ask for the same topic share it (KStreamImpl.repartitionForJoin in Kafka).
        if isinstance(node, RepartitionNode) and node.serves(given):
            node.known_as(names.source)
            return node, names.source
    return graph.add_node(RepartitionNode(given, names, parent)), names.source


def keep_null_keys(nodes: Sequence[GraphNode]) -> None:
    """Let null keys through each repartition topic above a left or outer join, and drop them at the others.

    That is the rule of KIP-962, for topics that an operator implies and for those of `repartition()` (Java's
    `NodesWithRelaxedNullKeyJoinDownstream`). Operators in between, and others below the topic, make no difference:
    those that cannot use null keys drop them themselves.

    Args:
        nodes: All operators, parents first.
    """
    above: set[GraphNode] = set()
    for node in reversed(nodes):
        # Going from the last operator to the first, every operator above such a join is marked.
        if node.takes_null_keys or node in above:
            above.update(node.parents)
        if isinstance(node, RepartitionNode):
            node.keeps_null_keys = node in above
