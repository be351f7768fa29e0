"""Topologies of streams applications, in few words."""

from collections.abc import Mapping

from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology, topology_of
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from kafka_groups.protocol.messages.streams_group_parts import (
    CopartitionGroup,
    KeyValue,
    StreamsSubtopology,
    StreamsTopicInfo,
)


def internal(name: str, partitions: int = 0, configs: Mapping[str, str] | None = None) -> StreamsTopicInfo:
    """An internal topic."""
    pairs = tuple(KeyValue(key=key, value=value) for key, value in sorted((configs or {}).items()))
    return StreamsTopicInfo(name=name, partitions=partitions, replication_factor=-1, topic_configs=pairs)


def subtopology(
    subtopology_id: str = "0",
    *,
    sources: tuple[str, ...] = (),
    changelogs: tuple[StreamsTopicInfo, ...] = (),
    sinks: tuple[str, ...] = (),
    repartitions: tuple[StreamsTopicInfo, ...] = (),
    together: tuple[CopartitionGroup, ...] = (),
) -> StreamsSubtopology:
    """A sub-topology."""
    return StreamsSubtopology(
        subtopology_id=subtopology_id,
        source_topics=sources,
        state_changelog_topics=changelogs,
        repartition_sink_topics=sinks,
        repartition_source_topics=repartitions,
        copartition_groups=together,
    )


def together(*sources: int, repartitions: tuple[int, ...] = ()) -> CopartitionGroup:
    """A copartition group, by positions."""
    return CopartitionGroup(source_topics=sources, repartition_source_topics=repartitions)


def sent(*subtopologies: StreamsSubtopology, epoch: int = 0) -> StreamsGroupHeartbeatTopology:
    """A topology as a member sends it."""
    return StreamsGroupHeartbeatTopology(epoch=epoch, subtopologies=subtopologies)


def topology(*subtopologies: StreamsSubtopology) -> StreamsTopology:
    """A topology."""
    return topology_of(sent(*subtopologies))


WORD_COUNT = sent(
    subtopology("0", sources=("lines",), sinks=("app-words-repartition",)),
    subtopology(
        "1",
        repartitions=(internal("app-words-repartition", configs={"cleanup.policy": "delete"}),),
        changelogs=(internal("app-counts-changelog", configs={"cleanup.policy": "compact"}),),
    ),
)
"""Word count: words are repartitioned and then counted in a store."""
