"""The subscriptions of a group: existing topics, assignable partitions, and when the group epoch increases."""

import hashlib
from collections.abc import Iterator
from uuid import UUID

from kafka_groups.broker.coordinators.groups.records import GroupEpoch, ShareGroupMetadata
from kafka_groups.broker.coordinators.groups.share.draft import Draft
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.topics import TopicImage, TopicsImage
from kafka_groups.types import TopicIdPartition

__all__ = ["assignable_partitions", "bump_group_epoch", "metadata_hash", "subscribed_topic_ids", "subscribed_topics"]

_NO_TOPICS_HASH = 0
_HASH_BYTES = 8


def subscribed_topics(group: ShareGroup, topics: TopicsImage) -> list[TopicImage]:
    """Return the existing topics that at least one member subscribes to, by name."""
    names = {name for member in group.members.values() for name in member.subscribed_topic_names}
    return list(_existing(sorted(names), topics))


def subscribed_topic_ids(group: ShareGroup, member_id: str, topics: TopicsImage) -> frozenset[UUID]:
    """Return the ids of the existing topics that a member subscribes to."""
    names = group.members[member_id].subscribed_topic_names
    return frozenset(topic.topic_id for topic in _existing(names, topics))


def assignable_partitions(group: ShareGroup, topics: TopicsImage) -> list[TopicIdPartition]:
    """Return the assignable share-partitions: those of subscribed topics that have initialised state."""
    initialized = group.state_partitions.initialized
    return [
        TopicIdPartition(topic.topic_id, partition, topic.name)
        for topic in subscribed_topics(group, topics)
        for partition in sorted(initialized.get(topic.topic_id, ()))
    ]


def metadata_hash(group: ShareGroup, topics: TopicsImage) -> int:
    """Return a number that changes when the set of assignable partitions may have changed.

    It depends on the subscribed topics with their ids and numbers of partitions, and on the partitions with initialised
    state.
    """
    initialized = group.state_partitions.initialized
    facts = [
        (topic.name, topic.topic_id.hex, topic.num_partitions, sorted(initialized.get(topic.topic_id, ())))
        for topic in subscribed_topics(group, topics)
    ]
    if not facts:
        return _NO_TOPICS_HASH
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big", signed=True)


def bump_group_epoch(draft: Draft, topics: TopicsImage, *, membership_changed: bool) -> None:
    """Increase the group epoch by one if members, subscriptions or the topics' metadata changed."""
    group = draft.group
    current_hash = metadata_hash(group, topics)
    if membership_changed or current_hash != group.metadata.metadata_hash:
        draft.write(ShareGroupMetadata(group.group_id, GroupEpoch(group.epoch + 1, current_hash)))


def _existing(names: "list[str] | tuple[str, ...]", topics: TopicsImage) -> Iterator[TopicImage]:
    for name in names:
        topic = topics.topic(name)
        if topic is not None:
            yield topic
