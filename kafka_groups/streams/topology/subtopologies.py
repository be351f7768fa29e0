"""Sub-topologies: nodes that are connected by records or by stores."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.streams.topology.node_graph import NodeGraph, TopologyStore
from kafka_groups.streams.topology.nodes import SinkNode, SourceNode, TopologyNode

__all__ = ["NodeGroup", "node_groups"]


@frozen(kw_only=True)
class NodeGroup:
    """A sub-topology.

    Attributes:
        number: Its number, counted from 0 in the order of the nodes that were added first.
        nodes: Its nodes in the order in which they were added, so parents come before children.
        stores: Its stores in the order in which they were added.
        is_global: Whether it fills global stores. Such a group has no tasks.
    """

    number: int
    nodes: tuple[TopologyNode, ...]
    stores: tuple[TopologyStore, ...]
    is_global: bool

    @property
    def sources(self) -> Iterator[SourceNode]:
        """The nodes that read topics."""
        return (node for node in self.nodes if isinstance(node, SourceNode))

    @property
    def sinks(self) -> Iterator[SinkNode]:
        """The nodes that write to topics."""
        return (node for node in self.nodes if isinstance(node, SinkNode))


def node_groups(topology: NodeGraph) -> tuple[NodeGroup, ...]:
    """Divide a topology into its sub-topologies."""
    joined = _Joined(topology)
    members: dict[str, list[TopologyNode]] = {}
    for name, node in topology.nodes.items():
        # Groups are numbered by their first nodes in the order of the topology (InternalTopologyBuilder.makeNodeGroups
        # in Kafka). The number is the sub-topology's id in the group, so members in both languages have to count alike.
        members.setdefault(joined.root(name), []).append(node)
    return tuple(_group(number, nodes, topology) for number, nodes in enumerate(members.values()))


def _group(number: int, nodes: list[TopologyNode], topology: NodeGraph) -> NodeGroup:
    names = {node.name for node in nodes}
    # Processors need not be connected with global stores, so those connect no sub-topologies.
    stores = tuple(place for place in topology.stores.values() if not names.isdisjoint(place.users))
    return NodeGroup(
        number=number,
        nodes=tuple(nodes),
        stores=tuple(stores),
        is_global=any(place.is_global for place in stores),
    )


class _Joined:
    """Sets of connected nodes, each named by one of them."""

    def __init__(self, topology: NodeGraph) -> None:
        self._parents = {name: name for name in topology.nodes}
        for name, node in topology.nodes.items():
            # Records connect nodes, and so do stores: what uses a store has to be in the task that has it
            # (InternalTopologyBuilder.connectProcessorAndStateStore). Sources that are joined are connected by the join
            # below them, and not by their copartitioning.
            for parent in node.parents:
                self._join(parent, name)
        for place in topology.stores.values():
            for user in place.users[1:]:
                self._join(place.users[0], user)

    def root(self, name: str) -> str:
        while self._parents[name] != name:
            self._parents[name] = name = self._parents[self._parents[name]]
        return name

    def _join(self, one: str, other: str) -> None:
        self._parents[self.root(other)] = self.root(one)
