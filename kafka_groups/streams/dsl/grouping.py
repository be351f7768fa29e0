"""A stream or table that is grouped by key."""

from attrs import frozen

from kafka_groups.streams.dsl.graph import Graph, GraphNode, Slot
from kafka_groups.streams.dsl.repartitioning import Repartition, add_repartition

__all__ = ["Grouping", "partitioned"]


@frozen(kw_only=True)
class Grouping:
    """A stream or table, and how it is grouped.

    Attributes:
        graph: The graph of its builder.
        node: Its node.
        sources: Names of the source nodes of its sub-topology.
        key: The serde of keys.
        value: The serde of values.
        name: Prefix of the repartition topic.
        is_repartitioned: Whether keys may have changed since the records were partitioned.
    """

    graph: Graph
    node: GraphNode
    sources: frozenset[str]
    key: Slot
    value: Slot
    name: str | None
    is_repartitioned: bool


def partitioned(grouping: Grouping, word: str, store: str) -> tuple[GraphNode, frozenset[str]]:
    """Return the node whose records an aggregation takes, and its sources: behind a repartition topic, if needed.

    Args:
        grouping: The grouped stream.
        word: The aggregation's operator, for messages.
        store: The aggregation's store, which names the topic if the user did not.
    """
    if not grouping.is_repartitioned:
        return grouping.node, grouping.sources
    source = add_repartition(
        grouping.graph,
        grouping.node,
        Repartition(
            prefix=grouping.name or store,
            key=grouping.graph.need(grouping.key, word),
            value=grouping.graph.need(grouping.value, word),
        ),
    )
    return source, frozenset({source.name})
