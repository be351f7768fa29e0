"""What the coordinators of a run keep: one group and the states of its share-partitions, each in an internal topic."""

from uuid import UUID

from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.broker.metadata.placement import (
    GROUP_TOPIC,
    SHARE_STATE_TOPIC,
    partition_of_key,
    share_state_key,
)
from kafka_groups.broker.metadata.topics import NO_LEADER

_OF_GROUP = -1


@frozen
class Kept:
    """What a coordinator keeps.

    Attributes:
        topic_name: The internal topic.
        key: Tells the partition.
        number: The partition whose state it is, or -1 for the group.
    """

    topic_name: str
    key: str
    number: int


@frozen
class Coordinated:
    """The group and the states of a topic's share-partitions."""

    cluster: EmbeddedCluster
    group_id: str
    topic_id: UUID
    partitions: int

    def all(self) -> list[Kept]:
        """Everything, the group first."""
        states = [(share_state_key(self.group_id, self.topic_id, number), number) for number in range(self.partitions)]
        group = Kept(GROUP_TOPIC, self.group_id, _OF_GROUP)
        return [group, *(Kept(SHARE_STATE_TOPIC, key, number) for key, number in states)]

    def uncommitted(self) -> list[tuple[int, list[int]]]:
        """The running brokers with records that are not committed, each with the partitions whose states these are."""
        found: dict[int, list[int]] = {}
        for kept in self.all():
            node_id = self._leader_of_uncommitted(kept)
            if node_id in self.cluster.running_brokers:
                found.setdefault(node_id, []).extend([kept.number] * (kept.number != _OF_GROUP))
        return sorted(found.items())

    def being_written(self) -> list[int]:
        """The share-partitions with a write under way and another one to come."""
        return [
            key.partition.partition
            for node in self.cluster._core.nodes.values()
            for key, writer in node._services.share.led._writers.items()
            if writer._under_way and writer._waiting
        ]

    def _leader_of_uncommitted(self, kept: Kept) -> int:
        topic = self.cluster.metadata.topic(kept.topic_name)
        if topic is None:
            return NO_LEADER
        partition = topic.partitions[partition_of_key(kept.key, topic.num_partitions)]
        log = self.cluster.logs.get(topic.topic_id, partition.partition)
        is_behind = isinstance(log, InternalLog) and log.committed_offset < log.end_offset
        return partition.leader_id if is_behind else NO_LEADER
