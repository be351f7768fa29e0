"""Numbers of partitions of a driver's topics, as the coordinator of a streams group derives them."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import (
    ConfiguredTopology,
    configured,
)
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import topology_of
from kafka_groups.errors import StreamsInvalidTopologyError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsStatus
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.topology.checks import check_partition_counts
from kafka_groups.streams.topology.internal_topics import group_topology, topic_name
from kafka_groups.streams.topology.matched_topics import matching, with_made_up_topics
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.subtopologies import node_groups
from kafka_groups.types import TopicPartition

__all__ = ["DrivenPartitions"]

_NO_ID = UUID(int=0)


@frozen
class _DrivenTopic:
    """A topic that exists before the group has its internal topics."""

    name: str
    num_partitions: int
    topic_id: UUID = _NO_ID


class DrivenPartitions:
    """The numbers of partitions of all topics that a topology reads or writes.

    Args:
        graph: The topology.
        application_id: Prefix of the internal topics.
        given: Numbers by topic. Internal topics have them only if the topology agrees.
        default: The number of topics that are neither named nor internal.

    Raises:
        TopologyError: The topology needs other numbers. The message has the status that a group would have.
        ValueError: A number is not positive.
    """

    def __init__(self, graph: NodeGraph, application_id: str, given: Mapping[str, int], default: int) -> None:
        self._counts = {topic: _checked(topic, count) for topic, count in given.items()}
        self._default = _checked("any topic", default)
        self._tasks: dict[str, int] = {}
        graph = _with_topics(graph, application_id, self._counts)
        if any(not group.is_global for group in node_groups(graph)):
            existing = self._derive(group_topology(graph, application_id))
            _check_joined(graph, application_id, {**existing, **self._counts})

    def __call__(self, topic: str) -> int:
        """Return a topic's number of partitions."""
        return self._counts.get(topic, self._default)

    def tasks(self, subtopology: int) -> int:
        """Return how many tasks a sub-topology has."""
        return self._tasks[str(subtopology)]

    def _derive(self, topology: GroupTopology) -> dict[str, int]:
        """Derive the numbers of internal topics. Return those of all others."""
        existing = {**dict.fromkeys(topology.source_topics, self._default), **self._counts}
        topics = {name: _DrivenTopic(name, count) for name, count in existing.items()}
        resolved = _resolved(topology, _DrivenTopics(topics))
        for name, each in resolved.subtopologies.items():
            self._tasks[name] = each.number_of_tasks
            self._counts |= {info.name: info.partitions for info in each.internal_topics}
        return existing


def _with_topics(graph: NodeGraph, application_id: str, given: Iterable[str]) -> NodeGraph:
    """Return the topology with the given topics that its patterns match, and one of the usual size where none does."""
    return with_made_up_topics(matching(graph, application_id, given))


@frozen
class _DrivenTopics:
    """The topics that exist, as the coordinator sees them."""

    _by_name: Mapping[str, _DrivenTopic]
    version: int = 0

    def topic(self, name: str) -> _DrivenTopic | None:
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: UUID) -> _DrivenTopic | None:
        return next((each for each in self._by_name.values() if each.topic_id == topic_id), None)

    def topics(self) -> tuple[_DrivenTopic, ...]:
        return tuple(self._by_name.values())

    def replica_racks(self, partition: TopicPartition) -> None:
        """Return None: there are no brokers, and so no racks."""


def _resolved(topology: GroupTopology, topics: _DrivenTopics) -> ConfiguredTopology:
    try:
        resolved = configured(topology_of(topology.to_wire()), topics)
    except StreamsInvalidTopologyError as error:
        raise TopologyError(f"{error} A group would refuse this topology. Give its topics with partitions=.") from error
    problem = resolved.problem
    # Missing internal topics are fine: the coordinator creates them.
    if problem is not None and problem.status is not StreamsStatus.MISSING_INTERNAL_TOPICS:
        raise TopologyError(
            f"{problem.detail} A group would have the status {problem.status.name} and process nothing. Change "
            "partitions= of the driver, or partitions= of repartition in the topology."
        )
    return resolved


def _check_joined(graph: NodeGraph, application_id: str, counts: Mapping[str, int]) -> None:
    """Refuse what an application refuses although brokers accept it."""
    try:
        check_partition_counts(graph, counts, lambda topic: topic_name(graph, application_id, topic))
    except StreamsError as error:
        raise TopologyError(str(error)) from error


def _checked(topic: str, count: object) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"partitions: {count!r} for {topic} is not a number of partitions. Use 1 or more.")
    return count
