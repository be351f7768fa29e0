"""The values of a consumer group's records as Kafka stores them in `__consumer_offsets`, and back."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.broker.coordinators.groups.assignors.group_spec import PartitionsByTopic
from kafka_groups.broker.coordinators.groups.consumer.records import (
    AssignedPartitions,
    ConsumerAssignment,
    ResolvedRegex,
)
from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerMemberState
from kafka_groups.protocol.coordinator_records import consumer_group as stored
from kafka_groups.protocol.coordinator_records.record import ValueForm

__all__ = ["CONSUMER_GROUP_FORMS"]

_NOT_KNOWN = 0
"""The epoch of partitions in old records, which may have been assigned in any."""


def _stored_target(target: PartitionsByTopic) -> stored.ConsumerGroupTargetAssignmentMemberValue:
    topics = (stored.TargetTopic(topic_id=each, partitions=tuple(target[each])) for each in target)
    return stored.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=tuple(topics))


def _target(value: stored.ConsumerGroupTargetAssignmentMemberValue) -> PartitionsByTopic:
    return {topic.topic_id: topic.partitions for topic in value.topic_partitions}


def _stored_regex(found: ResolvedRegex) -> stored.ConsumerGroupRegularExpressionValue:
    return stored.ConsumerGroupRegularExpressionValue(
        topics=tuple(sorted(found.topics)), version=found.version, timestamp_ms=found.timestamp_ms
    )


def _regex(value: stored.ConsumerGroupRegularExpressionValue) -> ResolvedRegex:
    return ResolvedRegex(frozenset(value.topics), value.version, value.timestamp_ms)


def _stored_current(current: ConsumerAssignment) -> stored.ConsumerGroupCurrentMemberAssignmentValue:
    return stored.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=current.state,
        assigned_partitions=_stored_partitions(current.assigned),
        partitions_pending_revocation=_stored_partitions(current.revoking),
    )


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
        # Releases before KIP-1251 did not store the epochs. With 0, a commit of any former epoch is accepted, as it was
        # then.
        if topic.assignment_epochs
        else dict.fromkeys(topic.partitions, _NOT_KNOWN)
        for topic in topics
    }


def _stored_partitions(partitions: AssignedPartitions) -> tuple[stored.CurrentTopic, ...]:
    return tuple(
        stored.CurrentTopic(
            topic_id=topic_id,
            partitions=tuple(sorted(epochs)),
            assignment_epochs=tuple(epochs[number] for number in sorted(epochs)),
        )
        for topic_id, epochs in partitions.items()
    )


# ------------------------------------------------------------------------------------------------- forms

CONSUMER_GROUP_FORMS: Mapping[type[Any], ValueForm] = MappingProxyType({
    stored.ConsumerGroupPartitionMetadata: ValueForm(read=lambda _value: None),
    stored.ConsumerGroupTargetAssignmentMember: ValueForm(_stored_target, _target),
    stored.ConsumerGroupCurrentMemberAssignment: ValueForm(_stored_current, _current),
    stored.ConsumerGroupRegularExpression: ValueForm(_stored_regex, _regex),
})  # fmt: skip
"""The forms of the values by record class. Others are messages."""
