"""From a topology to what the members of its streams group send: sub-topologies with internal topics."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, RepartitionTopic
from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.checks import check_topology
from kafka_groups.streams.topology.node_graph import NodeGraph, TopologyStore
from kafka_groups.streams.topology.subtopologies import NodeGroup, node_groups

__all__ = ["InternalTopics", "changelog_topic", "group_topology", "internal_topics", "topic_name"]

_TIMESTAMPS = {"message.timestamp.type": "CreateTime"}
_NO_COMPACTION = ("cleanup.policy", "delete")
_NEEDED_BY_ROWS = ("retention.ms", "min.compaction.lag.ms")
_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})
_REPARTITION = {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": "52428800", **_TIMESTAMPS}


def group_topology(
    topology: NodeGraph, application_id: str, topic_configs: Mapping[str, str] = _NO_CONFIGS
) -> GroupTopology:
    """Return the topology as a streams group has it. It lacks sub-topologies whose patterns match no topic.

    Args:
        topology: The topology.
        application_id: Prefix of the internal topics.
        topic_configs: Configs of all internal topics (`topic.*`).

    Raises:
        TopologyError: The topology is empty or contradicts itself.
    """
    check_topology(topology)
    builder = GroupTopologyBuilder()
    for group in node_groups(topology):
        # A group that fills global stores has taken a number, but it has no tasks, and brokers do not hear of it
        # (InternalTopologyBuilder.subtopologyToTopicsInfo leaves out groups without sources but global ones).
        if not group.is_global:
            _add(builder, group, topology, application_id, topic_configs)
    return builder.build()


@frozen
class InternalTopics:
    """The topics of an application that hold what nothing else has.

    Attributes:
        changelogs: The names of stores by the topics that only they write.
        repartitions: The repartition topics.
    """

    changelogs: Mapping[str, str]
    repartitions: frozenset[str]


def internal_topics(topology: NodeGraph, application_id: str) -> InternalTopics:
    """Return the internal topics of an application."""
    own = [place for place in topology.stores.values() if place.source_topic is None and not place.is_global]
    return InternalTopics(
        {
            changelog_topic(place, application_id): place.definition.name
            for place in own
            if place.definition.changelog is not None
        },
        frozenset(topic_name(topology, application_id, topic) for topic in topology.repartition_topics),
    )


def topic_name(topology: NodeGraph, application_id: str, topic: str) -> str:
    """Return the name of a topic: that of a repartition topic begins with the application's id."""
    return f"{application_id}-{topic}" if topic in topology.repartition_topics else topic


def changelog_topic(place: TopologyStore, application_id: str) -> str:
    """Return the topic that a store is restored from. Its serdes get this name, too."""
    return place.source_topic or f"{application_id}-{place.definition.name}-changelog"


def _add(
    builder: GroupTopologyBuilder,
    group: NodeGroup,
    topology: NodeGraph,
    application_id: str,
    topic_configs: Mapping[str, str],
) -> None:
    def named(topic: str) -> str:
        return topic_name(topology, application_id, topic)

    read = [topic for source in group.sources for topic in source.topics]
    internal = topology.repartition_topics
    builder.add_subtopology(
        str(group.number),
        sources=[topic for topic in read if topic not in internal],
        repartition_sources=[
            RepartitionTopic(named(topic), internal[topic].partitions, {**_REPARTITION, **topic_configs})
            for topic in read
            if topic in internal
        ],
        # Brokers need to know only the repartition topics that a sub-topology writes, to derive their numbers of
        # partitions. Sinks that choose their topic for each record cannot write to those.
        sinks=dict.fromkeys(
            named(sink.topic) for sink in group.sinks if isinstance(sink.topic, str) and sink.topic in internal
        ),
        changelogs=[
            ChangelogTopic(changelog_topic(place, application_id), changelog_configs(place.definition, topic_configs))
            for place in group.stores
            # A store whose source topic serves as its changelog is listed with that topic, so that brokers know that
            # the task has state (InternalTopologyBuilder.subtopologyToTopicsInfo lists it, too).
            if place.definition.changelog is not None
        ],
        copartition=[[named(topic) for topic in topics] for topics in _copartitioned(group, topology)],
        _has_patterns=any(source.pattern is not None for source in group.sources),
    )


def changelog_configs(definition: StoreDefinition, topic_configs: Mapping[str, str] = _NO_CONFIGS) -> dict[str, str]:
    """Return the configs of a store's changelog topic.

    As in Java, those of the application override the defaults, but for the retention that the store's rows need, the
    time without compaction that versions need, and deletion where keys are not unique. Those of the store override all.
    """
    defaults = definition.changelog_defaults()
    # InternalTopicConfig.properties in Kafka, and those of its two subclasses for windows and versions: the order is
    # library, application, store. The times that rows need are computed after the application's configs, because rows
    # would be lost with less.
    needed = {
        name: value for name, value in defaults.items() if (name, value) == _NO_COMPACTION or name in _NEEDED_BY_ROWS
    }
    return {**defaults, **_TIMESTAMPS, **topic_configs, **needed, **dict(definition.changelog or ())}


def _copartitioned(group: NodeGroup, topology: NodeGraph) -> Iterator[list[str]]:
    sources = {source.name: source for source in group.sources}
    for names in topology.told_copartitioned:
        # A group belongs to the sub-topology that has all of its sources.
        topics = [topic for name in names if name in sources for topic in sources[name].topics]
        if topics and sources.keys() >= set(names):
            yield topics
