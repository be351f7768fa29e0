"""A share group's records as Kafka stores them in `__consumer_offsets`, and back."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from kafka_groups.broker.coordinators.groups.share.records import (
    CurrentAssignment,
    PartitionsOfTopics,
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupMetadata,
    ShareGroupRecord,
    ShareGroupStatePartitionMetadata,
    ShareGroupTargetAssignmentMember,
    ShareGroupTargetAssignmentMetadata,
    StatePartitions,
)
from kafka_groups.protocol.coordinator_records import share_group as stored
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord
from kafka_groups.types import TopicIdPartition

__all__ = ["from_stored", "to_stored"]

_STABLE = 0


def to_stored(record: ShareGroupRecord) -> CoordinatorRecord:
    """Return the record as Kafka stores it."""
    return CoordinatorRecord(_stored_key(record), _stored_value(record))


def from_stored(record: CoordinatorRecord) -> ShareGroupRecord | None:
    """Return a record that Kafka or `to_stored` made, or None if it is of another type."""
    return _read(record.key, record.value)


# ---------------------------------------------------------------------------------------------- to Kafka's


def _stored_key(record: ShareGroupRecord) -> object:
    match record:
        case ShareGroupMemberMetadata(group_id, member_id):
            return stored.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
        case ShareGroupTargetAssignmentMember(group_id, member_id):
            return stored.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
        case ShareGroupCurrentMemberAssignment(group_id, member_id):
            return stored.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
        case ShareGroupMetadata(group_id):
            return stored.ShareGroupMetadataKey(group_id=group_id)
        case ShareGroupTargetAssignmentMetadata(group_id):
            return stored.ShareGroupTargetAssignmentMetadataKey(group_id=group_id)
        case ShareGroupStatePartitionMetadata(group_id):
            return stored.ShareGroupStatePartitionMetadataKey(group_id=group_id)


def _stored_value(record: ShareGroupRecord) -> object | None:
    match record:
        case ShareGroupMemberMetadata() | ShareGroupMetadata():
            return record.value
        case ShareGroupTargetAssignmentMetadata(value=int() as epoch):
            return stored.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        case ShareGroupTargetAssignmentMember(value=frozenset() as partitions):
            return stored.ShareGroupTargetAssignmentMemberValue(topic_partitions=_by_topic(partitions))
        case ShareGroupCurrentMemberAssignment(value=CurrentAssignment() as current):
            return stored.ShareGroupCurrentMemberAssignmentValue(
                member_epoch=current.member_epoch,
                previous_member_epoch=current.previous_member_epoch,
                state=_STABLE,
                assigned_partitions=_by_topic(current.partitions),
            )
        case ShareGroupStatePartitionMetadata(value=StatePartitions() as state):
            return _stored_state(state)
    return None


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


# -------------------------------------------------------------------------------------------- from Kafka's


def _read(key: Any, value: Any) -> ShareGroupRecord | None:
    match key:
        case stored.ShareGroupMemberMetadataKey():
            return ShareGroupMemberMetadata(key.group_id, key.member_id, value)
        case stored.ShareGroupTargetAssignmentMemberKey():
            partitions = value and _partitions(value.topic_partitions)
            return ShareGroupTargetAssignmentMember(key.group_id, key.member_id, partitions)
        case stored.ShareGroupCurrentMemberAssignmentKey():
            return ShareGroupCurrentMemberAssignment(key.group_id, key.member_id, value and _current(value))
        case stored.ShareGroupMetadataKey():
            return ShareGroupMetadata(key.group_id, value)
        case stored.ShareGroupTargetAssignmentMetadataKey():
            return ShareGroupTargetAssignmentMetadata(key.group_id, value and value.assignment_epoch)
        case stored.ShareGroupStatePartitionMetadataKey():
            return ShareGroupStatePartitionMetadata(key.group_id, value and _state(value))
    return None


def _current(value: stored.ShareGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return CurrentAssignment(value.member_epoch, value.previous_member_epoch, _partitions(value.assigned_partitions))


def _state(value: stored.ShareGroupStatePartitionMetadataValue) -> StatePartitions:
    """Return the state partitions, without those of deleted topics, because Kafka does not store them."""
    with_partitions = (*value.initializing_topics, *value.initialized_topics)
    names = {topic.topic_id: topic.topic_name for topic in with_partitions}
    return StatePartitions(
        initializing={topic.topic_id: frozenset(topic.partitions) for topic in value.initializing_topics},
        initialized={topic.topic_id: frozenset(topic.partitions) for topic in value.initialized_topics},
        deleting={topic.topic_id: frozenset() for topic in value.deleting_topics},
        topic_names=names | {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
    )


def _partitions(topics: Iterable[stored.AssignedTopic]) -> frozenset[TopicIdPartition]:
    return frozenset(TopicIdPartition(topic.topic_id, number) for topic in topics for number in topic.partitions)
