"""Input and output of the assignors of consumer groups (KIP-848)."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from attrs import field, frozen

__all__ = ["GroupSpec", "PartitionAssignorError", "PartitionsByTopic", "SubscribedMember"]

PartitionsByTopic = Mapping[UUID, Sequence[int]]
"""Partition numbers by topic id."""


@frozen
class SubscribedMember:
    """The assignor's view of a member.

    Kafka's assignors ignore racks, so there is no rack here.

    Attributes:
        topic_ids: The subscribed topics that exist, without duplicates, in the order of `kafka_order.ordered_names`.
        instance_id: The id of a static member.
        assigned: The member's part of the previous target assignment, in the order in which it is stored.
        missing_topics: How many subscribed names have no topic. Kafka sizes a hash table by the names, so this decides
            about the order of the topics.
    """

    topic_ids: Collection[UUID]
    instance_id: str | None = None
    assigned: PartitionsByTopic = field(factory=dict)
    missing_topics: int = 0


@frozen
class GroupSpec:
    """A group whose target assignment is computed.

    Attributes:
        members: The members by id, in the order in which they joined.
        partition_counts: The number of partitions of every topic.
        homogeneous: Whether all members subscribe to the same names. Kafka compares names, not topics: names of topics
            that don't exist count. If it is set although they do not, the topics of Kafka's first member count for all.
        newcomer: The member that joins just now, if one does. Kafka's table of members does not have it yet.
        member_slots: The number of buckets of Kafka's table of members, or 0 if no member was replaced or has left.
    """

    members: Mapping[str, SubscribedMember]
    partition_counts: Mapping[UUID, int]
    homogeneous: bool
    newcomer: str | None = None
    member_slots: int = 0


class PartitionAssignorError(Exception):
    """An assignment can't be computed from what the assignor was given."""
