"""A classic group's record as Kafka stores it in `__consumer_offsets`, and back."""

from kafka_groups.broker.coordinators.groups.classic.records import (
    ClassicGroupGeneration,
    ClassicGroupMember,
    ClassicGroupMetadata,
)
from kafka_groups.protocol.coordinator_records.offsets import (
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
)
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord

__all__ = ["from_stored", "to_stored"]

_NOT_SET = -1


def to_stored(record: ClassicGroupMetadata) -> CoordinatorRecord:
    """Return the record as Kafka stores it."""
    return CoordinatorRecord(GroupMetadataKey(group=record.group_id), record.value and _stored_value(record.value))


def from_stored(record: CoordinatorRecord) -> ClassicGroupMetadata | None:
    """Return a record that Kafka or `to_stored` made, or None if it is of another type."""
    key, value = record.key, record.value
    if not isinstance(key, GroupMetadataKey):
        return None
    return ClassicGroupMetadata(key.group, _generation(value) if isinstance(value, GroupMetadataValue) else None)


def _stored_value(value: ClassicGroupGeneration) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type=value.protocol_type,
        generation=value.generation,
        protocol=value.protocol,
        leader=value.leader,
        current_state_timestamp_ms=_NOT_SET if value.state_timestamp_ms is None else value.state_timestamp_ms,
        members=tuple(_stored_member(member) for member in value.members),
    )


def _generation(value: GroupMetadataValue) -> ClassicGroupGeneration:
    timestamp_ms = value.current_state_timestamp_ms
    return ClassicGroupGeneration(
        protocol_type=value.protocol_type,
        generation=value.generation,
        protocol=value.protocol,
        leader=value.leader,
        state_timestamp_ms=None if timestamp_ms == _NOT_SET else timestamp_ms,
        members=tuple(_member(member) for member in value.members),
    )


def _stored_member(member: ClassicGroupMember) -> GroupMetadataMember:
    return GroupMetadataMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.session_timeout_ms,
        subscription=member.subscription,
        assignment=member.assignment,
    )


def _member(member: GroupMetadataMember) -> ClassicGroupMember:
    # The oldest records lack the rebalance timeout: the session timeout was used for both.
    has_timeout = member.rebalance_timeout_ms != _NOT_SET
    return ClassicGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms if has_timeout else member.session_timeout_ms,
        session_timeout_ms=member.session_timeout_ms,
        subscription=member.subscription,
        assignment=member.assignment,
    )
