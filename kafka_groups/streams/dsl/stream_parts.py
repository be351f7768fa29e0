"""The parts of a stream in the graph."""

from attrs import evolve, frozen

from kafka_groups.streams.dsl.graph import Graph, GraphNode, Slot
from kafka_groups.streams.dsl.repartition import Repartition, add_repartition

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

    def partitioned(self, word: str, prefix: str) -> "StreamParts":
        """Return the stream behind a repartition topic, if it needs one.

        Args:
            word: The operator that needs it, for messages.
            prefix: The topic's name without its suffix.
        """
        # Keys that have not changed since the records came from a topic are in the right partitions already
        # (the field repartitionRequired of KStreamImpl in Kafka).
        if not self.needs_partitioning:
            return self
        key, value = self.graph.need(self.key, word), self.graph.need(self.value, word)
        given = Repartition(prefix=prefix, key=key, value=value, is_implied=True)
        node, source = add_repartition(self.graph, self.node, given)
        return evolve(self, node=node, sources=frozenset({source}), needs_partitioning=False)
