"""The topology of a streams group: its sub-topologies, with the topics that each reads and writes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

from attrs import define

from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.errors import InvalidRequestError, InvalidTopicError, StreamsInvalidTopologyError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from kafka_groups.protocol.messages.streams_group_parts import CopartitionGroup, StreamsSubtopology, StreamsTopicInfo

__all__ = ["StreamsTopology", "check_topic_names", "check_topology", "copartitioned_topics", "topology_of"]

_INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@define(frozen=True, slots=False)
class StreamsTopology:
    """A topology.

    Attributes:
        epoch: Its number. Kafka has no way to change a group's topology, but members of older ones may join.
        subtopologies: Its parts by their ids, in the order of the ids.
    """

    epoch: int
    subtopologies: tuple[StreamsSubtopology, ...]

    @cached_property
    def required_topics(self) -> tuple[str, ...]:
        """Names of the topics that the topology needs, sorted: sources, repartition topics and changelogs."""
        return tuple(sorted({name for each in self.subtopologies for name in _required(each)}))

    @cached_property
    def readers(self) -> dict[str, str]:
        """By topic that is read, the id of the sub-topology that reads it."""
        return {name: each.subtopology_id for each in self.subtopologies for name in _read(each)}

    @cached_property
    def repartition_topics(self) -> tuple[StreamsTopicInfo, ...]:
        """The repartition topics that are read."""
        return tuple(info for each in self.subtopologies for info in each.repartition_source_topics)


def topology_of(request: StreamsGroupHeartbeatTopology) -> StreamsTopology:
    """Return the topology that a member has sent. In which order it lists the sub-topologies does not matter."""
    # Topologies are compared as a whole when a member joins. Kafka keeps sub-topologies in a map by id
    # (StreamsTopology.fromHeartbeatRequest), so two members may list them in different orders.
    ordered = sorted(request.subtopologies, key=lambda each: each.subtopology_id)
    return StreamsTopology(request.epoch, tuple(ordered))


def copartitioned_topics(subtopology: StreamsSubtopology, group: CopartitionGroup) -> list[str]:
    """Return the topics that a copartition group of a sub-topology is about."""
    sources = [subtopology.source_topics[index] for index in group.source_topics]
    return sources + [subtopology.repartition_source_topics[index].name for index in group.repartition_source_topics]


# ------------------------------------------------------------------------------------------------ checks


def check_topic_names(topology: StreamsGroupHeartbeatTopology) -> None:
    """Check the names of all topics that a topology reads or writes.

    Raises:
        StreamsInvalidTopologyError: A name is not a topic's, or is that of an internal topic of Kafka.
    """
    for name in sorted({name for each in topology.subtopologies for name in _named(each)}):
        # KafkaApis.handleStreamsGroupHeartbeat in Kafka makes both checks before anything else: an application must not
        # have coordinators' topics created or read for it.
        if name in _INTERNAL_TOPICS:
            raise StreamsInvalidTopologyError(f"The topology uses {name}, which is an internal topic of Kafka.")
        try:
            check_topic_name(name)
        except InvalidTopicError as error:
            raise StreamsInvalidTopologyError(f"The topology has an invalid topic. {error}") from error


def check_topology(topology: StreamsGroupHeartbeatTopology) -> None:
    """Check the topology of a member that joins.

    Raises:
        InvalidRequestError: It has a regular expression, or a negative epoch.
        StreamsInvalidTopologyError: It contradicts itself.
    """
    # -1 stands for "no topology" in records and responses, so a member must not send it.
    if topology.epoch < 0:
        raise InvalidRequestError(f"The epoch of a topology must not be negative, but it is {topology.epoch}.")
    # Of these checks, Kafka 4.4 has only the one for changelogs (GroupCoordinatorService.throwIfInvalidTopology). The
    # others keep what would fail later, with UNKNOWN_SERVER_ERROR or in an assignor, from being stored.
    counted = Counter(each.subtopology_id for each in topology.subtopologies)
    for subtopology_id, count in counted.items():
        if count > 1:
            raise StreamsInvalidTopologyError(f"The topology has {count} sub-topologies with the id {subtopology_id}.")
    for each in topology.subtopologies:
        _check_subtopology(each)


def _check_subtopology(subtopology: StreamsSubtopology) -> None:
    # KIP-1071 has regular expressions; no release up to 4.4 supports them.
    if subtopology.source_topic_regex:
        raise InvalidRequestError(
            f"Sub-topology {subtopology.subtopology_id} reads topics by a regular expression, which is not supported. "
            "Name the topics."
        )
    for changelog in subtopology.state_changelog_topics:
        # KIP-1071, "Request Validation". A changelog has a partition for each task, and their number is known only to
        # the broker.
        if changelog.partitions:
            raise StreamsInvalidTopologyError(
                f"Changelog topic {changelog.name} has {changelog.partitions} partitions. It must leave the number "
                "open, because it needs as many as there are tasks."
            )
    # KIP-1071, "Request Validation", requires valid indices.
    for group in subtopology.copartition_groups:
        _check_positions(subtopology, group.source_topics, len(subtopology.source_topics))
        _check_positions(subtopology, group.repartition_source_topics, len(subtopology.repartition_source_topics))


def _check_positions(subtopology: StreamsSubtopology, positions: Iterable[int], count: int) -> None:
    for position in positions:
        if not 0 <= position < count:
            raise StreamsInvalidTopologyError(
                f"A copartition group of sub-topology {subtopology.subtopology_id} has the position {position} in a "
                f"list of {count} topics."
            )


# ----------------------------------------------------------------------------------------------- insides


def _read(subtopology: StreamsSubtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    yield from (info.name for info in subtopology.repartition_source_topics)


def _required(subtopology: StreamsSubtopology) -> Iterator[str]:
    yield from _read(subtopology)
    yield from (info.name for info in subtopology.state_changelog_topics)


def _named(subtopology: StreamsSubtopology) -> Iterator[str]:
    yield from _required(subtopology)
    yield from subtopology.repartition_sink_topics
