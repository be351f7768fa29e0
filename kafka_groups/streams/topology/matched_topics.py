"""Sources that read topics by patterns, and the topics that these match."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.streams.topology.internal_topics import group_topology, topic_name
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode
from kafka_groups.streams.topology.subtopologies import node_groups

__all__ = ["matched_topics", "matching", "pattern_sources", "refuse_patterns", "with_made_up_topics"]

_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})


def matching(topology: NodeGraph, application_id: str, topics: Iterable[str]) -> NodeGraph:
    """Return a topology whose patterns read those of these topics that they match, and no others.

    Args:
        topology: The topology.
        application_id: Prefix of the internal topics.
        topics: Names of topics that exist.

    Raises:
        TopologyError: Another source reads a topic that a pattern matches.
    """
    names = sorted(set(topics))
    found = {name: [topic for topic in names if node.matches(topic)] for name, node in topology.patterns.items()}
    if not found:
        return topology
    _check_readers(found, _readers(topology, application_id))
    return topology.reading(found)


def _readers(topology: NodeGraph, application_id: str) -> dict[str, str]:
    """Return the sources that read topics by their names. Repartition topics have their full names."""
    sources = (node for node in topology.nodes.values() if isinstance(node, SourceNode) and node.pattern is None)
    return {topic_name(topology, application_id, topic): source.name for source in sources for topic in source.topics}


def _check_readers(found: Mapping[str, Iterable[str]], readers: dict[str, str]) -> None:
    # SourceNodeFactory.topics in Kafka refuses a topic that two patterns match, too.
    for source, topics in found.items():
        for topic in topics:
            reader = readers.setdefault(topic, source)
            if reader != source:
                raise TopologyError(
                    f"Topic {topic!r} matches the pattern of source {source!r}, but source {reader!r} reads it, too. A "
                    "topic has one source: change the pattern, so that it does not match this topic."
                )


def pattern_sources(
    topology: NodeGraph, application_id: str, topic_configs: Mapping[str, str] = _NO_CONFIGS
) -> PatternSources | None:
    """Return the patterns of an application for the members of its group, or None if it has none.

    Args:
        topology: The topology.
        application_id: Prefix of the internal topics.
        topic_configs: Configs of all internal topics (`topic.*`).
    """

    def topology_of(topics: Iterable[str]) -> GroupTopology:
        return group_topology(matching(topology, application_id, topics), application_id, topic_configs)

    patterns = tuple(node.pattern for node in topology.patterns.values() if node.pattern is not None)
    if not patterns:
        return None
    groups = (group for group in node_groups(topology) if any(source.pattern is not None for source in group.sources))
    return PatternSources(patterns, topology_of, frozenset(str(group.number) for group in groups))


def matched_topics(topology: NodeGraph, topics: Iterable[str]) -> frozenset[str]:
    """Return those of some topics that a pattern of a topology matches."""
    sources = tuple(topology.patterns.values())
    return frozenset(topic for topic in topics if any(source.matches(topic) for source in sources))


def with_made_up_topics(topology: NodeGraph) -> NodeGraph:
    """Return a topology in which each pattern that matches no topic reads one that does not exist."""
    without = [name for name, source in topology.patterns.items() if not source.topics]
    return topology.reading({name: (f"topics-of-pattern-{number}",) for number, name in enumerate(without)})


def refuse_patterns(topology: NodeGraph) -> None:
    """Refuse a topology with patterns for a streams group.

    Raises:
        TopologyError: It has one.
    """
    for name, node in topology.patterns.items():
        # Heartbeats of streams groups have a field for patterns, but the coordinators of all releases of Kafka refuse a
        # topology that uses it (StreamsGroupHeartbeatRequest, KIP-1071).
        raise TopologyError(
            f"Source {name!r} reads all topics that match {_text(node)!r}, but no release of Kafka accepts patterns in "
            "streams groups. Set group_protocol='classic', or name the topics."
        )


def _text(node: SourceNode) -> str:
    return "" if node.pattern is None else node.pattern.pattern
