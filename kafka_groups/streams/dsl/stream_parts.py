"""The parts of a stream in the graph."""

from attrs import evolve, frozen

from kafka_groups.streams.dsl.graph import Graph, GraphNode, Slot
from kafka_groups.streams.dsl.repartitioning import Repartition, add_repartition

__all__ = ["StreamParts"]


@frozen(kw_only=True)
class StreamParts:
    """A stream.

    Attributes:
        graph: The graph of its builder.
        node: Its node.
        sources: Names of the source nodes of its sub-topology.
        key: The serde of its keys.
        value: The serde of its values.
        needs_partitioning: Whether keys may have changed since the records were partitioned.
    """

    graph: Graph
    node: GraphNode
    sources: frozenset[str]
    key: Slot
    value: Slot
    needs_partitioning: bool = False

    def partitioned(self, word: str, prefix: str, *, keeps_null_keys: bool = False) -> "StreamParts":
        """Return the stream behind a repartition topic, if it needs one.

        Args:
            word: The operator that needs it, for messages.
            prefix: The topic's name without its suffix.
            keeps_null_keys: Whether records with null keys get through, as above left and outer joins (KIP-962).
        """
        if not self.needs_partitioning:
            return self
        key, value = self.graph.need(self.key, word), self.graph.need(self.value, word)
        given = Repartition(prefix=prefix, key=key, value=value, keeps_null_keys=keeps_null_keys, is_implied=True)
        source = add_repartition(self.graph, self.node, given)
        return evolve(self, node=source, sources=frozenset({source.name}), needs_partitioning=False)
