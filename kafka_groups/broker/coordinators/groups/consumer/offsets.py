"""Checks of offset commits and fetches by members of a consumer group (KIP-848, KIP-1251)."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerAssignment
from kafka_groups.errors import (
    IllegalGenerationError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.coordinator_records.consumer_group import ConsumerGroupMemberMetadataValue

__all__ = ["check_commit", "check_fetch"]

_FIRST_WITH_MEMBER_EPOCH = 9
"""Version of OffsetCommit from which it has the epoch of a member."""


def check_commit(
    group: ConsumerGroup, member_id: str, epoch: int, version: int, partitions: Sequence[tuple[UUID, int]]
) -> None:
    """Check whether offsets may be committed.

    An older epoch is enough for partitions that the member has had since then, because its heartbeat may be on the way
    (KIP-1251). The instance id is not looked at, as in Kafka.

    Raises:
        UnknownMemberIdError: The group has members, and this is none of them.
        UnsupportedVersionError: The request has no member epoch.
        StaleMemberEpochError: The member has another epoch.
        IllegalGenerationError: The same, for a member that speaks the classic protocol.
    """
    # Administration tools set offsets of a group without members (ConsumerGroup.validateOffsetCommit). In a group with
    # members, their offsets would be overwritten, so the request has to come from a member.
    if epoch < 0 and not group.members:
        return
    member, current = _member(group, member_id), group.current_of(member_id)
    # Before v9 the field has a generation, which members of the classic protocol have and others do not.
    if version < _FIRST_WITH_MEMBER_EPOCH and member.classic_member_metadata is None:
        raise UnsupportedVersionError("The consumer group uses the new protocol. Use OffsetCommit v9 or later.")
    # There are three cases. The current epoch may commit everything. A newer one is unknown here. An older one counts
    # for the partitions that the member has held since then (ConsumerGroup.createAssignmentEpochValidator, KIP-1251).
    if epoch == current.member_epoch:
        return
    if epoch < 0 or epoch > current.member_epoch or not _has_since(current, partitions, epoch):
        raise _stale(member, epoch, current)


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Check whether offsets may be fetched. Who does not say that it is a member may fetch them.

    Raises:
        UnknownMemberIdError: The group does not have the member.
        StaleMemberEpochError: The member has another epoch.
    """
    # Only null says that the request is not a member's. An empty id is looked up and is unknown
    # (ConsumerGroup.validateOffsetFetch).
    if member_id is None and epoch < 0:
        return
    member, current = _member(group, member_id or ""), group.current_of(member_id or "")
    if epoch != current.member_epoch:
        raise _stale(member, epoch, current)


def _member(group: ConsumerGroup, member_id: str) -> ConsumerGroupMemberMetadataValue:
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def _has_since(current: ConsumerAssignment, partitions: Iterable[tuple[UUID, int]], epoch: int) -> bool:
    # Kafka checks one partition after the other. One that does not qualify fails the whole request.
    return all(_assigned_at(current, *each, otherwise=epoch + 1) <= epoch for each in partitions)


def _assigned_at(current: ConsumerAssignment, topic_id: UUID, number: int, *, otherwise: int) -> int:
    # A member commits once more before it gives up partitions, so those that it has to revoke count as well
    # (ConsumerGroupMember.pendingRevocationEpoch in Kafka).
    for assigned in (current.assigned, current.revoking):
        epoch = assigned.get(topic_id, {}).get(number)
        if epoch is not None:
            return epoch
    return otherwise


def _stale(member: ConsumerGroupMemberMetadataValue, epoch: int, current: ConsumerAssignment) -> Exception:
    # A classic consumer does not know STALE_MEMBER_EPOCH. ILLEGAL_GENERATION makes it join again.
    text = f"The received member epoch {epoch} is not the expected one, {current.member_epoch}."
    return StaleMemberEpochError(text) if member.classic_member_metadata is None else IllegalGenerationError(text)
