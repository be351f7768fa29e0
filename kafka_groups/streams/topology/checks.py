"""Mistakes of a topology that show only when all of it is there."""

from collections.abc import Callable, Iterable, Mapping

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode

__all__ = ["check_partition_counts", "check_topology"]


def check_topology(topology: NodeGraph) -> None:
    """Refuse stores that nobody uses, and joins of topics that have different numbers of partitions.

    Raises:
        TopologyError: There is one.
    """
    for name, place in topology.stores.items():
        # Java accepts such a store and never opens it, which hides a forgotten connection.
        if not place.users:
            raise TopologyError(
                f"No processor is connected with the store {name!r}. Name it in `stores=` of the one that uses it, or "
                "leave it out."
            )
    for sources in _joined_sources(topology.copartitioned):
        _check_partitions(topology, sources)


def check_partition_counts(topology: NodeGraph, counts: Mapping[str, int], named: Callable[[str], str] = str) -> None:
    """Refuse topics that are joined and have different numbers of partitions.

    Brokers check only the copartition groups in the heartbeat, which lack some sources, as those of Kafka Streams do
    (`NodeGraph.told_copartitioned`).

    Args:
        topology: The topology.
        counts: The number of partitions of topics by name. Topics that are not in it are left out.
        named: Returns the full name of a topic.

    Raises:
        StreamsError: There are such topics.
    """
    for sources in _joined_sources(topology.copartitioned):
        nodes = (topology.nodes[source] for source in sources)
        read = {named(topic) for node in nodes if isinstance(node, SourceNode) for topic in node.topics}
        found = {topic: counts[topic] for topic in sorted(read & counts.keys())}
        if len(set(found.values())) > 1:
            listed = ", ".join(f"{topic} has {count}" for topic, count in found.items())
            raise StreamsError(
                f"Topics that are joined or aggregated together have different numbers of partitions, so equal keys "
                f"would not meet: {listed}. Create the topics with equal numbers. Where a topic is the application's "
                f"own, call repartition(partitions={max(found.values())}) before the operator that needs it."
            )


def _joined_sources(groups: Iterable[Iterable[str]]) -> list[set[str]]:
    """Return the groups after joining those that share a source."""
    joined: list[set[str]] = []
    for group in groups:
        # Two groups that share a source have to agree, so their topics all need one number.
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
        listed = " and ".join(f"{topic} has {partitions}" for partitions, topic in given.items())
        raise TopologyError(
            f"Streams that are joined or aggregated together come from different numbers of partitions, so equal keys "
            f"would not meet: {listed}. Give repartition the same `partitions=` for each."
        )
