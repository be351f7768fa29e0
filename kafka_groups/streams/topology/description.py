"""The text of a topology, as Kafka Streams' `Topology.describe()` has it."""

from collections.abc import Iterable

from kafka_groups.assignment.java_order import copied, grown, in_hash_order, string_hash
from kafka_groups.assignment.java_tree import JavaTreeSet
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode, TopologyNode
from kafka_groups.streams.topology.subtopologies import NodeGroup, node_groups

__all__ = ["describe"]


def describe(topology: NodeGraph) -> str:
    """Return the topology as text. Internal topics have no prefix in it, as in Java before an application runs."""
    described = "".join(_described(group, topology) for group in node_groups(topology))
    return f"Topologies:\n {described}"


def _described(group: NodeGroup, topology: NodeGraph) -> str:
    ordered = _Neighbours(group.nodes)
    title = f"  Sub-topology: {group.number}" + (
        " for global store (will not generate tasks)" if group.is_global else ""
    )
    nodes = sorted(group.nodes, key=lambda node: ordered.place(node.name))
    lines = [line for node in nodes for line in _node_lines(node, ordered, topology)]
    return "\n".join([title, *lines, *([] if group.is_global else [""]), ""])


class _Neighbours:
    """Parents and children of each node in Java's order.

    Java sorts nodes by how many ways lead from them to the nodes below, and by name. It fills its sorted sets while it
    still counts, in the order of a hash table, so the order of neighbours depends on what was counted by then, and on
    the shapes of the trees.
    """

    def __init__(self, nodes: Iterable[TopologyNode]) -> None:
        known = {node.name: node for node in nodes}
        self.parents = {name: JavaTreeSet(self.place) for name in known}
        self.children = {name: JavaTreeSet(self.place) for name in known}
        self._sizes = dict.fromkeys(known, 1)
        # InternalTopologyBuilder.describeSubtopology in Kafka goes through a HashMap, and its NodeComparator compares
        # sizes that grow meanwhile.
        for name in in_hash_order(tuple(known), string_hash, grown(len(known))):
            for parent in known[name].parents:
                self.parents[name].add(parent)
                self.children[parent].add(name)
                self._count(parent, self._sizes[name])

    def place(self, name: str) -> tuple[int, str]:
        """Return the place of a node among others, by what has been counted."""
        return -self._sizes[name], name

    def _count(self, name: str, added: int) -> None:
        self._sizes[name] += added
        for parent in self.parents[name]:
            self._count(parent, added)


def _node_lines(node: TopologyNode, ordered: _Neighbours, topology: NodeGraph) -> list[str]:
    below = f"      --> {', '.join(ordered.children[node.name]) or 'none'}"
    above = f"      <-- {', '.join(ordered.parents[node.name]) or 'none'}"
    match node:
        case SourceNode():
            return [f"    Source: {node.name} (topics: {_read(node)})", below]
        case ProcessorNode():
            stores = ", ".join(_in_order(topology.stores_of(node.name)))
            return [f"    Processor: {node.name} (stores: [{stores}])", below, above]
        case SinkNode():
            return [f"    Sink: {node.name} ({_target(node)})", above]


def _read(source: SourceNode) -> str:
    return f"[{', '.join(_in_order(source.topics))}]" if source.pattern is None else source.pattern.pattern


def _in_order(names: tuple[str, ...]) -> list[str]:
    return in_hash_order(names, string_hash, copied(len(names)))


def _target(sink: SinkNode) -> str:
    return f"topic: {sink.topic}" if isinstance(sink.topic, str) else f"extractor class: {sink.topic!r}"
