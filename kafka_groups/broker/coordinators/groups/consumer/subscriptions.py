"""The subscriptions of a consumer group: existing topics, and when the group epoch increases."""

from uuid import UUID

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup, regex_of
from kafka_groups.broker.coordinators.groups.epochs.target import NO_TOPICS_HASH, existing_topics, hash_of
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadata,
    ConsumerGroupMetadataValue,
)

__all__ = ["bump_group_epoch", "has_other_subscription", "metadata_hash", "subscribed_ids"]


def subscribed_ids(
    group: ConsumerGroup, member: ConsumerGroupMemberMetadataValue, topics: TopicsImage
) -> frozenset[UUID]:
    """Return the ids of the existing topics that a member subscribes to."""
    return frozenset(topic.topic_id for topic in existing_topics(group.topics_of(member), topics))


def metadata_hash(group: ConsumerGroup, topics: TopicsImage) -> int:
    """Return a number that changes when the target assignment may have to change.

    It depends on the subscribed topics with their ids and numbers of partitions, and on how many members name them: if
    only the first records of an operation are stored, a member is new or gone, and the group epoch did not follow.
    """
    # Kafka's Utils.computeTopicHash also covers the racks of replicas. The assignors here do not look at
    # racks, so they would only cause rebalances that change nothing.
    found = existing_topics(group.subscribed_topics(), topics)
    facts = [(each.name, each.topic_id.hex, each.num_partitions, group.subscribers.get(each.name)) for each in found]
    return hash_of(facts) if facts else NO_TOPICS_HASH


def bump_group_epoch(draft: ConsumerDraft, topics: TopicsImage, *, has_changed: bool) -> None:
    """Increase the group epoch by one if members or subscriptions have changed, or else the topics' metadata."""
    group = draft.group
    current = metadata_hash(group, topics)
    # Several reasons at once increase the epoch by one (GroupMetadataManager.updateSubscriptionMetadata).
    if has_changed or current != group.metadata.metadata_hash:
        increased = ConsumerGroupMetadataValue(epoch=group.epoch + 1, metadata_hash=current)
        draft.write(ConsumerGroupMetadata(group.group_id, increased))


def has_other_subscription(
    group: ConsumerGroup, before: ConsumerGroupMemberMetadataValue | None, after: ConsumerGroupMemberMetadataValue
) -> bool:
    """Return whether a member subscribes to something else than before.

    A regular expression whose topics are not known does not count yet.
    """
    regex = regex_of(after)
    has_other_regex = regex != ("" if before is None else regex_of(before))
    # Kafka has UpdateRegularExpressionStatus.REGEX_UPDATED_AND_RESOLVED for this. If the topics are yet to be found,
    # the group epoch increases when they are.
    if has_other_regex and (not regex or regex in group.regexes):
        return True
    # A new member without topics changes nothing for the others. It gets an empty assignment in the current epoch.
    if before is None:
        return bool(after.subscribed_topic_names)
    return before.subscribed_topic_names != after.subscribed_topic_names
