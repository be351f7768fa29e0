"""Where members of a streams group answer interactive queries, and for which partitions."""

from collections.abc import Iterable, Iterator, Mapping

from kafka_groups.broker.coordinators.groups.streams.configured_topology import (
    ConfiguredSubtopology,
    ConfiguredTopology,
)
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.tasks import by_subtopology
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.errors import UnknownServerError
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatTopicPartition,
)
from kafka_groups.types import TaskId

__all__ = ["partitions_by_endpoint"]


def partitions_by_endpoint(
    group: StreamsGroup, configured: ConfiguredTopology, topics: TopicsImage
) -> tuple[EndpointToPartitions, ...]:
    """Return an entry for each member with an endpoint. Several members may have the same one.

    Raises:
        UnknownServerError: A member has an endpoint, but the topics of the topology do not work. Kafka fails, too.
    """
    return tuple(
        EndpointToPartitions(
            user_endpoint=member.user_endpoint,
            active_partitions=tuple(_partitions(group.current_of(member_id).active, _sized(configured), topics)),
            standby_partitions=tuple(_partitions(group.current_of(member_id).standby, _sized(configured), topics)),
        )
        for member_id, member in group.members.items()
        if member.user_endpoint is not None
    )


def _sized(configured: ConfiguredTopology) -> Mapping[str, ConfiguredSubtopology]:
    """Return the sub-topologies, whose topics must have numbers of partitions."""
    if configured.problem is not None and not configured.subtopologies:
        raise UnknownServerError(
            f"There are no partitions to ask for at the members' endpoints. {configured.problem.detail}"
        )
    return configured.subtopologies


def _partitions(
    tasks: Iterable[TaskId], subtopologies: Mapping[str, ConfiguredSubtopology], topics: TopicsImage
) -> Iterator[StreamsGroupHeartbeatTopicPartition]:
    for subtopology_id, numbers in by_subtopology(tasks).items():
        subtopology = subtopologies.get(subtopology_id)
        for name in () if subtopology is None else subtopology.source_names:
            topic = topics.topic(name)
            if topic is None:
                raise UnknownServerError(f"Topic {name} does not exist, but a member has tasks that read it.")
            read = tuple(number for number in numbers if number < topic.num_partitions)
            if read:
                yield StreamsGroupHeartbeatTopicPartition(topic=name, partitions=read)
