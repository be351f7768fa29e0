"""A stream or table that is grouped by key."""

from attrs import frozen

from kafka_groups.streams.dsl.graph import Graph, GraphNode, Slot

__all__ = ["Grouping"]


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
