"""Repartition topics: a filter of null keys, a sink and a source."""

import re
from collections.abc import Iterable
from typing import Any

from attrs import Attribute, evolve, field, frozen

from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, GraphNode
from kafka_groups.streams.member.rules.topology_builder import TopologyError, check_topic_name
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Partitioner, ProcessorNode, SinkNode, SourceNode

__all__ = ["Repartition", "RepartitionNode", "add_repartition"]

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
        keeps_null_keys: Whether records with null keys get through, as above left and outer joins (KIP-962).
        is_implied: Whether an operator needs it that could share it with others.
    """

    prefix: str = field(validator=_prefix)
    key: Serde[Any]
    value: Serde[Any]
    partitions: int | None = field(default=None, validator=_count)
    partitioner: Partitioner | None = field(default=None, validator=_partitioner)
    keeps_null_keys: bool = False
    is_implied: bool = False

    @property
    def topic(self) -> str:
        """The topic's name without the application's prefix."""
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
    """

    def __init__(
        self, given: Repartition, names: _RepartitionNames, parent: GraphNode, stands_for: Iterable[str] = ()
    ) -> None:
        super().__init__(names.source, self._write, (parent,))
        self.is_implied = given.is_implied
        self._given = given
        self._names = names
        self._stands_for = tuple(stands_for)

    def below(self, parents: Iterable[GraphNode]) -> "RepartitionNode":
        """Return the same topic below another operator."""
        (parent,) = parents
        return RepartitionNode(self._given, self._names, parent, self._stands_for)

    def shared(self, parent: GraphNode, group: Iterable["RepartitionNode"]) -> "RepartitionNode":
        """Return a topic of the same name that stands for those of a group. Its nodes have its name, as in Java."""
        keeps_null_keys = any(node._given.keeps_null_keys for node in group)
        given = evolve(self._given, keeps_null_keys=keeps_null_keys)
        return RepartitionNode(given, _RepartitionNames.after(given.topic), parent, [node.name for node in group])

    def serves(self, given: Repartition) -> bool:
        """Let another operator use this topic, too, if it asks for the same. Return whether it can."""
        if not (self.is_implied and given.is_implied and self._given.topic == given.topic):
            return False
        keeps_null_keys = self._given.keeps_null_keys or given.keeps_null_keys  # others drop them themselves
        self._given = evolve(self._given, keeps_null_keys=keeps_null_keys)
        return True

    def _write(self, topology: NodeGraph, parents: tuple[str, ...]) -> None:
        given, names = self._given, self._names
        topology.add_repartition_topic(given.topic, given.partitions)
        kept = _is_any if given.keeps_null_keys else _has_key
        topology.add_node(ProcessorNode(name=names.null_filter, parents=parents, operator=processors.Filter(kept)))
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


def add_repartition(graph: Graph, parent: GraphNode, given: Repartition) -> GraphNode:
    """Add a repartition topic below an operator, and return the node of its source.

    Operators that need the same topic of one stream share it, as in Java. Each takes three indices nevertheless.
    """
    sink, null_filter, source = (graph.new_name(f"KSTREAM-{kind}-") for kind in ("SINK", "FILTER", "SOURCE"))
    is_generated = _GENERATED.fullmatch(given.prefix)
    names = _RepartitionNames(null_filter, sink, source) if is_generated else _RepartitionNames.after(given.topic)
    for node in graph.children_of(parent):
        if isinstance(node, RepartitionNode) and node.serves(given):
            return node
    return graph.add_node(RepartitionNode(given, names, parent))


def _is_any(_key: Any, _value: Any) -> bool:
    return True


def _has_key(key: Any, _value: Any) -> bool:
    return key is not None
