"""The text of a topology, as Kafka Streams' `NodeGraph.describe()` has it."""

from collections.abc import Iterable, Mapping

from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode, TopologyNode
from kafka_groups.streams.topology.subtopologies import NodeGroup, node_groups

__all__ = ["describe"]


def describe(topology: NodeGraph) -> str:
    """Return the topology as text. Internal topics have no prefix in it, as in Java before an application runs."""
    described = "".join(_described(group, topology) for group in node_groups(topology))
    return f"Topologies:\n {described}"


def _described(group: NodeGroup, topology: NodeGraph) -> str:
    children = topology.children_of()
    sizes = _sizes(group.nodes, children)
    title = f"  Sub-topology: {group.number}" + (
        " for global store (will not generate tasks)" if group.is_global else ""
    )
    ordered = sorted(group.nodes, key=lambda node: (-sizes[node.name], node.name))
    lines = [line for node in ordered for line in _node_lines(node, children[node.name], sizes, topology)]
    return "\n".join([title, *lines, "", ""])


def _sizes(nodes: Iterable[TopologyNode], children: Mapping[str, list[TopologyNode]]) -> dict[str, int]:
    """Return how many ways lead from each node to itself and the nodes below it: Java sorts by that."""
    sizes: dict[str, int] = {}
    for node in reversed(tuple(nodes)):
        sizes[node.name] = 1 + sum(sizes[child.name] for child in children[node.name])
    return sizes


def _node_lines(
    node: TopologyNode, children: list[TopologyNode], sizes: Mapping[str, int], topology: NodeGraph
) -> list[str]:
    def names(found: Iterable[str]) -> str:
        return ", ".join(sorted(found, key=lambda name: (-sizes[name], name))) or "none"

    below = f"      --> {names(child.name for child in children)}"
    above = f"      <-- {names(node.parents)}"
    match node:
        case SourceNode():
            return [f"    Source: {node.name} (topics: [{', '.join(sorted(node.topics))}])", below]
        case ProcessorNode():
            stores = ", ".join(sorted(topology.stores_of(node.name)))
            return [f"    Processor: {node.name} (stores: [{stores}])", below, above]
        case SinkNode():
            return [f"    Sink: {node.name} ({_target(node)})", above]


def _target(sink: SinkNode) -> str:
    return f"topic: {sink.topic}" if isinstance(sink.topic, str) else f"extractor class: {sink.topic!r}"
