"""Descriptions of topologies of Kafka Streams for people to read (KIP-1331), in several messages."""

from typing import Final

from attrs import frozen

__all__ = [
    "PROCESSOR_NODE",
    "SINK_NODE",
    "SOURCE_NODE",
    "DescribedTopology",
    "TopologyDescriptionGlobalStore",
    "TopologyDescriptionNode",
    "TopologyDescriptionSubtopology",
]

SOURCE_NODE: Final = 1
PROCESSOR_NODE: Final = 2
SINK_NODE: Final = 3
"""Types of a node."""


@frozen(kw_only=True)
class TopologyDescriptionNode:
    """A node of a topology. Source topics, a sink topic and stores are those of its type."""

    name: str
    node_type: int
    source_topics: tuple[str, ...] = ()
    sink_topic: str | None = None
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()


@frozen(kw_only=True)
class TopologyDescriptionSubtopology:
    """The nodes of a sub-topology."""

    subtopology_id: str
    nodes: tuple[TopologyDescriptionNode, ...] = ()


@frozen(kw_only=True)
class TopologyDescriptionGlobalStore:
    """The nodes that fill a global store."""

    source: TopologyDescriptionNode
    processor: TopologyDescriptionNode


@frozen(kw_only=True)
class DescribedTopology:
    """An application's description of its topology, for people to read (KIP-1331)."""

    subtopologies: tuple[TopologyDescriptionSubtopology, ...] = ()
    global_stores: tuple[TopologyDescriptionGlobalStore, ...] = ()
