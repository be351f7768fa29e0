"""Where members of a streams group answer interactive queries, and for which partitions."""

from collections.abc import Iterable, Iterator

from kafka_groups.broker.coordinators.groups.streams.configured_topology import ConfiguredTopology
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.tasks import TaskId, by_subtopology
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatTopicPartition,
)

__all__ = ["partitions_by_endpoint"]


def partitions_by_endpoint(
    group: StreamsGroup, configured: ConfiguredTopology, topics: TopicsImage
) -> tuple[EndpointToPartitions, ...]:
    """Return an entry for each member with an endpoint. Several members may have the same one."""
    return tuple(
        EndpointToPartitions(
            user_endpoint=member.user_endpoint,
            active_partitions=tuple(_partitions(group.current_of(member_id).active, configured, topics)),
            standby_partitions=tuple(_partitions(group.current_of(member_id).standby, configured, topics)),
        )
        for member_id, member in group.members.items()
        if member.user_endpoint is not None
    )


def _partitions(
    tasks: Iterable[TaskId], configured: ConfiguredTopology, topics: TopicsImage
) -> Iterator[StreamsGroupHeartbeatTopicPartition]:
    for subtopology_id, numbers in by_subtopology(tasks).items():
        subtopology = configured.subtopologies.get(subtopology_id)
        for name in () if subtopology is None else subtopology.source_names:
            topic = topics.topic(name)
            read = () if topic is None else tuple(number for number in numbers if number < topic.num_partitions)
            if read:
                yield StreamsGroupHeartbeatTopicPartition(topic=name, partitions=read)
