"""The topics that a leader watches after its assignment."""

from collections.abc import Iterator, Mapping
from typing import Self

from attrs import field, frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.streams_leader.replica_racks import RacksOfPartitions, ReplicaRacks
from kafka_groups.admin.rules.topics import TopicReplicas, counts_of_topics
from kafka_groups.client.events import listed
from kafka_groups.types import TopicPartition

__all__ = ["TopicChanges", "WatchedTopics", "read_topics"]


def read_topics(topology: GroupTopology) -> tuple[str, ...]:
    """Return the topics that tasks read, sorted."""
    return tuple(sorted({name for each in topology.subtopologies for name in each.read_topics}))


@frozen
class TopicChanges:
    """The topics that are no longer as they were assigned.

    Attributes:
        counts: Those that have another number of partitions, or have vanished.
        racks: Those with partitions that have replicas in other racks.
    """

    counts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.counts or self.racks)

    @property
    def reason(self) -> str:
        """The reason to join again, as half a sentence."""
        if self.counts:
            return f"the partitions of {listed(self.counts)} have changed"
        return f"the replicas of {listed(self.racks)} are in other racks now"


@frozen
class WatchedTopics:
    """The topics as an assignment was made from them. If they change, the leader joins again.

    Attributes:
        counts: The numbers of partitions of the topics that tasks read.
        racks: The racks of the partitions whose racks counted.
    """

    counts: Mapping[str, int] = field(factory=dict)
    racks: RacksOfPartitions = field(factory=dict, repr=False)

    @classmethod
    def as_they_are(cls, topics: Mapping[str, TopicReplicas], *, uses_racks: bool) -> Self:
        """Return topics for a leader that has not assigned them itself.

        A static member that comes back as leader skips the assignment, and still watches the topics.
        """
        find, used = ReplicaRacks(topics), topics if uses_racks else {}
        partitions = (TopicPartition(name, number) for name, each in used.items() for number in each.nodes)
        return cls(counts_of_topics(topics), {each: find(each) for each in partitions})

    @property
    def topics(self) -> frozenset[str]:
        """The topics to ask for."""
        return frozenset(self.counts) | {partition.topic for partition in self.racks}

    def changes(self, now: Mapping[str, TopicReplicas]) -> TopicChanges:
        """Return the topics that have changed.

        Args:
            now: Those of the topics that exist now.
        """
        counts = counts_of_topics(now)
        changed = sorted(name for name, count in self.counts.items() if counts.get(name) != count)
        return TopicChanges(tuple(changed), tuple(sorted(set(self._in_other_racks(now)))))

    def _in_other_racks(self, now: Mapping[str, TopicReplicas]) -> Iterator[str]:
        for partition, racks in self.racks.items():
            topic = now.get(partition.topic)
            # The racks of a broker that is restarted are not known meanwhile. That is no reason to move tasks.
            if topic is None or not topic.are_running(partition.partition):
                continue
            if topic.racks_of(partition.partition) != racks:
                yield partition.topic
