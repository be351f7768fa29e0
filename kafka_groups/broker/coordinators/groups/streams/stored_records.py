"""The values of a streams group's records as Kafka stores them in `__consumer_offsets`, and back."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.broker.coordinators.groups.streams.records import (
    StreamsAssignment,
    StreamsGroupEpoch,
    StreamsMember,
    StreamsTarget,
)
from kafka_groups.broker.coordinators.groups.streams.states import StreamsMemberState
from kafka_groups.broker.coordinators.groups.streams.tasks import Tasks, by_subtopology, listed_tasks, task_set
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology
from kafka_groups.protocol.coordinator_records import streams_group as stored
from kafka_groups.protocol.coordinator_records.record import ValueForm
from kafka_groups.protocol.messages.streams_group_parts import KeyValue
from kafka_groups.types import TaskId

__all__ = ["STREAMS_GROUP_FORMS"]

_KNOWN_STATES = frozenset(StreamsMemberState)
_NOT_KNOWN = 0
"""The epoch of tasks in old records, which may have been assigned in any."""


def _stored_target(target: StreamsTarget) -> stored.StreamsGroupTargetAssignmentMemberValue:
    return stored.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=listed_tasks(target.active), standby_tasks=listed_tasks(target.standby)
    )


def _target(value: stored.StreamsGroupTargetAssignmentMemberValue) -> StreamsTarget:
    return StreamsTarget(task_set(value.active_tasks), task_set(value.standby_tasks))


def _stored_topology(topology: StreamsTopology) -> stored.StreamsGroupTopologyValue:
    return stored.StreamsGroupTopologyValue(epoch=topology.epoch, subtopologies=topology.subtopologies)


def _topology(value: stored.StreamsGroupTopologyValue) -> StreamsTopology:
    return StreamsTopology(value.epoch, value.subtopologies)


def _stored_group(group: StreamsGroupEpoch) -> stored.StreamsGroupMetadataValue:
    return stored.StreamsGroupMetadataValue(
        epoch=group.epoch,
        metadata_hash=group.metadata_hash,
        validated_topology_epoch=group.validated_topology_epoch,
        last_assignment_configs=_pairs(group.assignment_configs),
        stored_description_topology_epoch=group.stored_description_epoch,
        failed_description_topology_epoch=group.failed_description_epoch,
    )


def _stored_member(member: StreamsMember) -> stored.StreamsGroupMemberMetadataValue:
    return stored.StreamsGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=member.user_endpoint,
        client_tags=_pairs(member.client_tags),
    )


def _stored_current(current: StreamsAssignment) -> stored.StreamsGroupCurrentMemberAssignmentValue:
    return stored.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=current.state,
        active_tasks=_stored_active(current.active),
        standby_tasks=_stored_standby(current.standby),
        active_tasks_pending_revocation=_stored_active(current.revoking_active),
        standby_tasks_pending_revocation=_stored_standby(current.revoking_standby),
    )


def _stored_active(tasks: Mapping[TaskId, int]) -> tuple[stored.CurrentTaskIds, ...]:
    return tuple(
        stored.CurrentTaskIds(
            subtopology_id=subtopology_id,
            partitions=tuple(partitions),
            assignment_epochs=tuple(tasks[TaskId(subtopology_id, partition)] for partition in partitions),
        )
        for subtopology_id, partitions in by_subtopology(tasks).items()
    )


def _stored_standby(tasks: Tasks) -> tuple[stored.CurrentTaskIds, ...]:
    return tuple(
        stored.CurrentTaskIds(subtopology_id=subtopology_id, partitions=tuple(partitions))
        for subtopology_id, partitions in by_subtopology(tasks).items()
    )


def _pairs(values: Mapping[str, str]) -> tuple[KeyValue, ...]:
    return tuple(KeyValue(key=key, value=value) for key, value in values.items())


def _group(value: stored.StreamsGroupMetadataValue) -> StreamsGroupEpoch:
    return StreamsGroupEpoch(
        value.epoch,
        value.metadata_hash,
        value.validated_topology_epoch,
        _values(value.last_assignment_configs),
        value.stored_description_topology_epoch,
        value.failed_description_topology_epoch,
    )


def _member(value: stored.StreamsGroupMemberMetadataValue) -> StreamsMember:
    return StreamsMember(
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        user_endpoint=value.user_endpoint,
        client_tags=_values(value.client_tags),
    )


def _current(value: stored.StreamsGroupCurrentMemberAssignmentValue) -> StreamsAssignment:
    """Warm-up tasks are left out, because no release of Kafka assigns any."""
    return StreamsAssignment(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        # A newer release may have more states. Kafka also reads unknown ones as UNKNOWN (MemberState.fromValue).
        state=StreamsMemberState(value.state) if value.state in _KNOWN_STATES else StreamsMemberState.UNKNOWN,
        active=_with_epochs(value.active_tasks),
        standby=_without_epochs(value.standby_tasks),
        revoking_active=_with_epochs(value.active_tasks_pending_revocation),
        revoking_standby=_without_epochs(value.standby_tasks_pending_revocation),
    )


def _with_epochs(listed: Iterable[stored.CurrentTaskIds]) -> Mapping[TaskId, int]:
    return {
        TaskId(each.subtopology_id, partition): epoch
        for each in listed
        for partition, epoch in zip(each.partitions, _epochs(each), strict=True)
    }


def _epochs(listed: stored.CurrentTaskIds) -> tuple[int, ...]:
    epochs, count = listed.assignment_epochs, len(listed.partitions)
    # Records from before KAFKA-19779 have no epochs of tasks. With 0, commits of any epoch are accepted for them.
    return epochs if epochs is not None and len(epochs) == count else (_NOT_KNOWN,) * count


def _without_epochs(listed: Iterable[stored.CurrentTaskIds]) -> Tasks:
    return frozenset(TaskId(each.subtopology_id, partition) for each in listed for partition in each.partitions)


def _values(pairs: Iterable[KeyValue]) -> Mapping[str, str]:
    return {pair.key: pair.value for pair in pairs}


# ------------------------------------------------------------------------------------------------- forms

STREAMS_GROUP_FORMS: Mapping[type[Any], ValueForm] = MappingProxyType({
    stored.StreamsGroupMetadata: ValueForm(_stored_group, _group),
    stored.StreamsGroupMemberMetadata: ValueForm(_stored_member, _member),
    stored.StreamsGroupTargetAssignmentMember: ValueForm(_stored_target, _target),
    stored.StreamsGroupCurrentMemberAssignment: ValueForm(_stored_current, _current),
    stored.StreamsGroupTopology: ValueForm(_stored_topology, _topology),
})  # fmt: skip
"""The forms of the values by record class. Others are messages."""
