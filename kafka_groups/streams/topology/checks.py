"""Mistakes of a topology that show only when all of it is there."""

from collections.abc import Iterable

from kafka_groups.streams.member.rules.topology_builder import TopologyError
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode

__all__ = ["check_topology"]


def check_topology(topology: NodeGraph) -> None:
    """Refuse stores that nobody uses, and joins of topics that have different numbers of partitions.

    Raises:
        TopologyError: There is one.
    """
    for name, place in topology.stores.items():
        if not place.users:
            raise TopologyError(
                f"No processor is connected with the store {name!r}. Name it in `stores=` of the one that uses it, or "
                "leave it out."
            )
    for sources in _joined_sources(topology.copartitioned):
        _check_partitions(topology, sources)


def _joined_sources(groups: Iterable[Iterable[str]]) -> list[set[str]]:
    """Return the groups after joining those that share a source."""
    joined: list[set[str]] = []
    for group in groups:
        sharing = [other for other in joined if not other.isdisjoint(group)]
        joined = [other for other in joined if other not in sharing]
        joined.append(set(group).union(*sharing))
    return joined


def _check_partitions(topology: NodeGraph, sources: Iterable[str]) -> None:
    """Compare the numbers that were given to repartition topics. Those of other topics are known only later."""
    given: dict[int, str] = {}
    for source in sorted(sources):
        node = topology.nodes[source]
        for topic in node.topics if isinstance(node, SourceNode) else ():
            partitions = getattr(topology.repartition_topics.get(topic), "partitions", None)
            if partitions is not None:
                given.setdefault(partitions, topic)
    if len(given) > 1:
        listed = " and ".join(f"{topic} with {partitions}" for partitions, topic in given.items())
        raise TopologyError(
            f"Streams that are joined or aggregated together come from {listed} partitions, so equal keys would not "
            "meet. Give repartition the same `partitions=` for each."
        )
