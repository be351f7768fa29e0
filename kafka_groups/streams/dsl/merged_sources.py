"""Streams of the same topics share one source."""

import re
from collections.abc import Iterable, Sequence

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.streams.dsl.graph import GraphNode
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode

__all__ = ["StreamSource", "merge_sources"]


class StreamSource(GraphNode):
    """The source of a stream.

    Attributes:
        source: The node that reads the topics.
    """

    def __init__(self, source: SourceNode, stands_for: Iterable[str] = ()) -> None:
        super().__init__(source.name, self._write, ())
        self.source = source
        self._stands_for = tuple(stands_for)

    def below(self, parents: Iterable[GraphNode]) -> "StreamSource":
        """Return the same source. There are no operators above one."""
        return StreamSource(self.source, self._stands_for)

    def serving(self, others: Sequence["StreamSource"]) -> "StreamSource":
        """Return a source that stands for others of the same topics, too.

        Raises:
            TopologyError: They read the topics in another way.
        """
        for other in others:
            for keyword in ("key", "value", "timestamp", "offset_reset"):
                self._check(other.source, keyword)
        return StreamSource(self.source, [other.name for other in others])

    def _check(self, other: SourceNode, keyword: str) -> None:
        mine, theirs = getattr(self.source, keyword), getattr(other, keyword)
        # One consumer reads a topic once, so one source can only read it in one way. Java takes the first serdes and
        # checks the rule for resets alone (InternalStreamsBuilder.mergeDuplicateSourceNodes, StreamSourceNode.merge).
        if mine != theirs:
            raise TopologyError(
                f"stream({_shown(other)}) is read twice, with {keyword}={mine!r} and "
                f"{keyword}={theirs!r}. Both streams share one source: give both the same `{keyword}=`."
            )

    def _write(self, topology: NodeGraph, _parents: tuple[str, ...]) -> None:
        topology.add_node(self.source)
        for name in self._stands_for:
            topology.stand_in(name, (self.name,))


def merge_sources(nodes: Sequence[GraphNode]) -> list[GraphNode]:
    """Return the same operators with one source for all streams of the same topics: the first one, as in Java.

    Sources that have only some topics in common are left, and refused when they are written.

    Raises:
        TopologyError: Streams of the same topics are read in different ways.
    """
    groups: dict[tuple[frozenset[str], re.Pattern[str] | None], list[StreamSource]] = {}
    for node in nodes:
        if isinstance(node, StreamSource):
            # Only streams of exactly the same topics, or of the same pattern with the same flags, can share a source
            # (InternalStreamsBuilder.mergeDuplicateSourceNodes).
            groups.setdefault((frozenset(node.source.topics), node.source.pattern), []).append(node)
    firsts = {first: first.serving(others) for first, *others in groups.values() if others}
    return _rewritten(nodes, firsts, groups.values()) if firsts else list(nodes)


def _shown(source: SourceNode) -> str:
    return ", ".join(map(repr, source.topics if source.pattern is None else (source.pattern,)))


def _rewritten(
    nodes: Iterable[GraphNode], firsts: dict[StreamSource, StreamSource], groups: Iterable[Sequence[StreamSource]]
) -> list[GraphNode]:
    instead: dict[GraphNode, GraphNode] = {other: firsts[group[0]] for group in groups for other in group[1:]}
    gone = set(instead)
    found: list[GraphNode] = []
    for node in nodes:
        # Operators below a source that is gone come below the one that stands for it.
        if node in gone:
            continue
        merged = firsts.get(node) if isinstance(node, StreamSource) else None
        instead[node] = merged or node.below([instead[parent] for parent in node.parents])
        found.append(instead[node])
    return found
