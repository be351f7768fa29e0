"""The subscriptions of a group: existing topics, assignable partitions, and when the group epoch increases."""

from uuid import UUID

from kafka_groups.broker.coordinators.groups.epochs.target import NO_TOPICS_HASH, existing_topics, hash_of
from kafka_groups.broker.coordinators.groups.share.group import Draft, ShareGroup
from kafka_groups.broker.coordinators.groups.topics_image import TopicImage, TopicsImage
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupMetadata, ShareGroupMetadataValue
from kafka_groups.types import TopicIdPartition

__all__ = ["assignable_partitions", "bump_group_epoch", "ids_of_existing", "metadata_hash", "subscribed_topics"]


def subscribed_topics(group: ShareGroup, topics: TopicsImage) -> list[TopicImage]:
    """Return the existing topics that at least one member subscribes to, by name."""
    return list(existing_topics(group.subscribers, topics))


def ids_of_existing(names: tuple[str, ...], topics: TopicsImage) -> frozenset[UUID]:
    """Return the ids of those of these topics that exist."""
    return frozenset(topic.topic_id for topic in existing_topics(names, topics))


def assignable_partitions(group: ShareGroup, topics: TopicsImage) -> list[TopicIdPartition]:
    """Return the assignable share-partitions: those of subscribed topics that have initialised state."""
    # Kafka passes the same restriction to its assignors (initializedShareGroupPartitions,
    # withTopicAssignablePartitionsMap). A share-partition without state has no start offset from which a member could
    # fetch.
    initialized = group.state_partitions.initialized
    return [
        TopicIdPartition(topic.topic_id, partition, topic.name)
        for topic in subscribed_topics(group, topics)
        for partition in sorted(initialized.get(topic.topic_id, ()))
    ]


def metadata_hash(group: ShareGroup, topics: TopicsImage) -> int:
    """Return a number that changes when the set of assignable partitions may have changed.

    It depends on the subscribed topics with their ids and numbers of partitions, on the partitions with initialised
    state, and on the numbers of subscribers: if only the first records of an operation are stored, a member is new, has
    changed or is gone, and the group epoch did not follow.
    """
    # Kafka hashes topics only and looks separately for initialised partitions that nobody is assigned
    # (GroupMetadataManager.initializedAssignmentPending). With them in the hash, one comparison covers both.
    initialized, subscribers = group.state_partitions.initialized, group.subscribers
    facts = [
        (
            topic.name,
            topic.topic_id.hex,
            topic.num_partitions,
            subscribers[topic.name],
            sorted(initialized.get(topic.topic_id, ())),
        )
        for topic in subscribed_topics(group, topics)
    ]
    return hash_of(facts) if facts else NO_TOPICS_HASH


def bump_group_epoch(draft: Draft, topics: TopicsImage, *, membership_changed: bool) -> None:
    """Increase the group epoch by one if members, subscriptions or the topics' metadata changed."""
    group = draft.group
    current_hash = metadata_hash(group, topics)
    # KIP-932, "Group epoch - Trigger a rebalance". Several reasons at once increase the epoch by one.
    if membership_changed or current_hash != group.metadata.metadata_hash:
        increased = ShareGroupMetadataValue(epoch=group.epoch + 1, metadata_hash=current_hash)
        draft.write(ShareGroupMetadata(group.group_id, increased))
