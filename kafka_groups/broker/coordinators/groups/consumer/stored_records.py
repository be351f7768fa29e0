"""A consumer group's records as Kafka stores them in `__consumer_offsets`, and back."""

from collections.abc import Iterable
from typing import Any

from kafka_groups.broker.coordinators.groups.assignors.group_spec import PartitionsByTopic
from kafka_groups.broker.coordinators.groups.consumer.records import (
    AssignedPartitions,
    ConsumerAssignment,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRecord,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    ResolvedRegex,
)
from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerMemberState
from kafka_groups.broker.coordinators.groups.epochs.group import TargetEpoch
from kafka_groups.protocol.coordinator_records import consumer_group as stored
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord

__all__ = ["from_stored", "to_stored"]

_NOT_KNOWN = 0
"""The epoch of partitions in old records, which may have been assigned in any."""


def to_stored(record: ConsumerGroupRecord) -> CoordinatorRecord:
    """Return the record as Kafka stores it."""
    return CoordinatorRecord(_stored_key(record), _stored_value(record))


def from_stored(record: CoordinatorRecord) -> ConsumerGroupRecord | None:
    """Return a record that Kafka or `to_stored` made, or None if it is of another type."""
    return _read(record.key, record.value)


# ---------------------------------------------------------------------------------------------- to Kafka's


def _stored_key(record: ConsumerGroupRecord) -> object:
    match record:
        case ConsumerGroupCurrentMemberAssignment(group_id, member_id):
            return stored.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
        case ConsumerGroupTargetAssignmentMember(group_id, member_id):
            return stored.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
        case ConsumerGroupMemberMetadata(group_id, member_id):
            return stored.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
        case ConsumerGroupMetadata(group_id):
            return stored.ConsumerGroupMetadataKey(group_id=group_id)
        case ConsumerGroupTargetAssignmentMetadata(group_id):
            return stored.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
        case ConsumerGroupRegularExpression(group_id, regex):
            return stored.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
        case ConsumerGroupPartitionMetadata(group_id):
            return stored.ConsumerGroupPartitionMetadataKey(group_id=group_id)


def _stored_value(record: ConsumerGroupRecord) -> object | None:
    match record:
        case ConsumerGroupCurrentMemberAssignment(value=ConsumerAssignment() as current):
            return stored.ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=current.member_epoch,
                previous_member_epoch=current.previous_member_epoch,
                state=current.state,
                assigned_partitions=_stored_partitions(current.assigned),
                partitions_pending_revocation=_stored_partitions(current.revoking),
            )
        case ConsumerGroupTargetAssignmentMember(value=target) if target is not None:
            topics = (stored.TargetTopic(topic_id=each, partitions=tuple(target[each])) for each in target)
            return stored.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=tuple(topics))
        case ConsumerGroupMemberMetadata() | ConsumerGroupMetadata():
            return record.value
        case ConsumerGroupTargetAssignmentMetadata(value=TargetEpoch() as known):
            return stored.ConsumerGroupTargetAssignmentMetadataValue(
                assignment_epoch=known.epoch, assignment_timestamp_ms=known.timestamp_ms
            )
        case ConsumerGroupRegularExpression(value=ResolvedRegex() as found):
            return stored.ConsumerGroupRegularExpressionValue(
                topics=tuple(sorted(found.topics)), version=found.version, timestamp_ms=found.timestamp_ms
            )
    return None


def _stored_partitions(partitions: AssignedPartitions) -> tuple[stored.CurrentTopic, ...]:
    return tuple(
        stored.CurrentTopic(
            topic_id=topic_id,
            partitions=tuple(sorted(epochs)),
            assignment_epochs=tuple(epochs[number] for number in sorted(epochs)),
        )
        for topic_id, epochs in partitions.items()
    )


# -------------------------------------------------------------------------------------------- from Kafka's


def _read(key: Any, value: Any) -> ConsumerGroupRecord | None:
    match key:
        case stored.ConsumerGroupCurrentMemberAssignmentKey():
            return ConsumerGroupCurrentMemberAssignment(key.group_id, key.member_id, value and _current(value))
        case stored.ConsumerGroupTargetAssignmentMemberKey():
            target = None if value is None else _target(value.topic_partitions)
            return ConsumerGroupTargetAssignmentMember(key.group_id, key.member_id, target)
        case stored.ConsumerGroupMemberMetadataKey():
            return ConsumerGroupMemberMetadata(key.group_id, key.member_id, value)
        case stored.ConsumerGroupMetadataKey():
            return ConsumerGroupMetadata(key.group_id, value)
        case stored.ConsumerGroupTargetAssignmentMetadataKey():
            target_epoch = value and TargetEpoch(value.assignment_epoch, value.assignment_timestamp_ms)
            return ConsumerGroupTargetAssignmentMetadata(key.group_id, target_epoch)
        case stored.ConsumerGroupRegularExpressionKey():
            found = value and ResolvedRegex(frozenset(value.topics), value.version, value.timestamp_ms)
            return ConsumerGroupRegularExpression(key.group_id, key.regular_expression, found)
        case stored.ConsumerGroupPartitionMetadataKey():
            return ConsumerGroupPartitionMetadata(key.group_id)
    return None


def _current(value: stored.ConsumerGroupCurrentMemberAssignmentValue) -> ConsumerAssignment:
    return ConsumerAssignment(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=ConsumerMemberState(value.state),
        assigned=_assigned(value.assigned_partitions),
        revoking=_assigned(value.partitions_pending_revocation),
    )


def _assigned(topics: Iterable[stored.CurrentTopic]) -> AssignedPartitions:
    return {
        topic.topic_id: dict(zip(topic.partitions, topic.assignment_epochs, strict=False))
        if topic.assignment_epochs
        else dict.fromkeys(topic.partitions, _NOT_KNOWN)
        for topic in topics
    }


def _target(topics: Iterable[stored.TargetTopic]) -> PartitionsByTopic:
    return {topic.topic_id: topic.partitions for topic in topics}
