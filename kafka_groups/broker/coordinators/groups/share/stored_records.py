"""The values of a share group's records as Kafka stores them in `__consumer_offsets`, and back."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from kafka_groups.broker.coordinators.groups.share.records import CurrentAssignment, PartitionsOfTopics, StatePartitions
from kafka_groups.protocol.coordinator_records import share_group as stored
from kafka_groups.protocol.coordinator_records.record import ValueForm
from kafka_groups.types import TopicIdPartition

__all__ = ["SHARE_GROUP_FORMS"]

_STABLE = 0


def _stored_target(partitions: Iterable[TopicIdPartition]) -> stored.ShareGroupTargetAssignmentMemberValue:
    return stored.ShareGroupTargetAssignmentMemberValue(topic_partitions=_by_topic(partitions))


def _target(value: stored.ShareGroupTargetAssignmentMemberValue) -> frozenset[TopicIdPartition]:
    return _partitions(value.topic_partitions)


def _stored_current(current: CurrentAssignment) -> stored.ShareGroupCurrentMemberAssignmentValue:
    return stored.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=_STABLE,
        assigned_partitions=_by_topic(current.partitions),
    )


def _stored_state(state: StatePartitions) -> stored.ShareGroupStatePartitionMetadataValue:
    return stored.ShareGroupStatePartitionMetadataValue(
        initializing_topics=_with_names(state.initializing, state.topic_names),
        initialized_topics=_with_names(state.initialized, state.topic_names),
        deleting_topics=tuple(
            stored.DeletingTopic(topic_id=topic_id, topic_name=state.topic_names[topic_id])
            for topic_id in sorted(state.deleting)
        ),
    )


def _with_names(topics: PartitionsOfTopics, names: Mapping[UUID, str]) -> tuple[stored.StateTopic, ...]:
    return tuple(
        stored.StateTopic(topic_id=topic_id, topic_name=names[topic_id], partitions=tuple(sorted(topics[topic_id])))
        for topic_id in sorted(topics)
    )


def _by_topic(partitions: Iterable[TopicIdPartition]) -> tuple[stored.AssignedTopic, ...]:
    numbers: dict[UUID, list[int]] = {}
    for each in partitions:
        numbers.setdefault(each.topic_id, []).append(each.partition)
    return tuple(
        stored.AssignedTopic(topic_id=topic_id, partitions=tuple(sorted(numbers[topic_id])))
        for topic_id in sorted(numbers)
    )


def _current(value: stored.ShareGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return CurrentAssignment(value.member_epoch, value.previous_member_epoch, _partitions(value.assigned_partitions))


def _state(value: stored.ShareGroupStatePartitionMetadataValue) -> StatePartitions:
    """Return the state partitions, without those of deleted topics, because Kafka does not store them."""
    with_partitions = (*value.initializing_topics, *value.initialized_topics)
    names = {topic.topic_id: topic.topic_name for topic in with_partitions}
    return StatePartitions(
        initializing={topic.topic_id: frozenset(topic.partitions) for topic in value.initializing_topics},
        initialized={topic.topic_id: frozenset(topic.partitions) for topic in value.initialized_topics},
        # An empty set stands for all partitions, see `ShareGroups._deletion`.
        deleting={topic.topic_id: frozenset() for topic in value.deleting_topics},
        topic_names=names | {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
    )


def _partitions(topics: Iterable[stored.AssignedTopic]) -> frozenset[TopicIdPartition]:
    return frozenset(TopicIdPartition(topic.topic_id, number) for topic in topics for number in topic.partitions)


# ------------------------------------------------------------------------------------------------- forms

SHARE_GROUP_FORMS: Mapping[type[Any], ValueForm] = MappingProxyType({
    stored.ShareGroupTargetAssignmentMember: ValueForm(_stored_target, _target),
    stored.ShareGroupCurrentMemberAssignment: ValueForm(_stored_current, _current),
    stored.ShareGroupStatePartitionMetadata: ValueForm(_stored_state, _state),
})  # fmt: skip
"""The forms of the values by record class. Others are messages."""
