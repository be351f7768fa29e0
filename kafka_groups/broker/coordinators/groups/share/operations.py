"""The operations on a share group. Each takes the current group and returns a response and records."""

from collections.abc import Collection, Mapping
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.share import state_partitions
from kafka_groups.broker.coordinators.groups.share.assignment import (
    needs_target,
    reconcile,
    settle_empty_group,
    update_target,
)
from kafka_groups.broker.coordinators.groups.share.group import Draft, ShareGroup
from kafka_groups.broker.coordinators.groups.share.members import remove_member, update_member
from kafka_groups.broker.coordinators.groups.share.records import CurrentAssignment, PartitionsOfTopics
from kafka_groups.broker.coordinators.groups.share.state_partitions import (
    begin_deletion,
    begin_initialization,
    drop_deleted_topics,
)
from kafka_groups.broker.coordinators.groups.share.subscriptions import bump_group_epoch
from kafka_groups.broker.coordinators.groups.share.unchanged_inputs import UnchangedInputs
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.errors import NonEmptyGroupError
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupMetadata,
    ShareGroupStatePartitionMetadata,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.messages.share_group_heartbeat import JOIN_EPOCH, ShareGroupHeartbeatRequest

__all__ = ["HeartbeatResult", "begin_restart", "delete_group", "forget_topics", "heartbeat", "remove"]


@frozen
class HeartbeatResult:
    """The result of a heartbeat.

    Attributes:
        current: The member's new epoch and assignment.
        send_assignment: Whether the response must contain the assignment.
        computed_target: Whether a new target assignment was computed.
        initializing: The partitions whose state must be initialised.
    """

    current: CurrentAssignment
    send_assignment: bool
    computed_target: bool
    initializing: PartitionsOfTopics


def heartbeat(
    draft: Draft,
    request: ShareGroupHeartbeatRequest,
    client: MemberClient,
    topics: TopicsImage,
    unchanged: UnchangedInputs,
    *,
    may_compute_target: bool,
) -> HeartbeatResult:
    """Apply a valid heartbeat of a member that joins or stays.

    Args:
        draft: The group.
        request: The heartbeat. Its member id and epoch have been checked.
        client: Its origin.
        topics: The existing topics.
        unchanged: The facts that need not be computed again.
        may_compute_target: Whether the assignment interval has passed since the last target assignment (KIP-1263).
    """
    member_id = request.member_id
    # The steps are those of GroupMetadataManager.shareGroupHeartbeat in Kafka, in the same order. Until the states of
    # its topics are initialised, a new member gets an empty assignment.
    before = draft.group.current.get(member_id)
    initializing = _follow_topics(draft, request, client, topics, unchanged)
    # KIP-1263 limits how often a group is assigned. Until the interval has passed, members keep the target they have.
    compute_target = may_compute_target and needs_target(draft.group)
    if compute_target:
        update_target(draft, topics)
    if not unchanged.has_member(draft.group, member_id):
        reconcile(draft, member_id, topics)
        unchanged.add_member(draft.group, member_id)
    current = draft.group.current[member_id]
    send_assignment = _must_send_assignment(request, before, current)
    return HeartbeatResult(current, send_assignment, compute_target, initializing)


def _follow_topics(
    draft: Draft,
    request: ShareGroupHeartbeatRequest,
    client: MemberClient,
    topics: TopicsImage,
    unchanged: UnchangedInputs,
) -> PartitionsOfTopics:
    """Store what the member says, and what follows from that and the topics, and return what must be initialised."""
    is_settled = unchanged.has_group(draft.group)
    if not is_settled:
        drop_deleted_topics(draft, topics)
    # Without an epoch, the member is there because not all records of an earlier operation were stored.
    membership_changed = update_member(draft, request, client) or request.member_id not in draft.group.current
    # Neither topics nor states nor members have changed since the last look, so neither the hash nor missing states can
    # have.
    if is_settled and not membership_changed:
        return {}
    bump_group_epoch(draft, topics, membership_changed=membership_changed)
    # In Kafka, maybeCreateInitializeShareGroupStateRequest follows the assignment. The order makes no difference,
    # because only initialised partitions are assigned.
    initializing = begin_initialization(draft, topics)
    unchanged.add_group(draft.group)
    return initializing


def _must_send_assignment(
    request: ShareGroupHeartbeatRequest, before: CurrentAssignment | None, current: CurrentAssignment
) -> bool:
    """Return whether to send the assignment: it changed, or the request lists topics (the member may have lost it)."""
    # A member that sends its topics may have lost a response, and with it its assignment. KIP-932, "ShareGroupHeartbeat
    # API", has members send all fields when they join and after errors.
    if request.member_epoch == JOIN_EPOCH or request.subscribed_topic_names is not None:
        return True
    # KIP-932, "ShareGroupHeartbeat API": otherwise the assignment is only sent when it changes.
    return before is not current and (before is None or before.partitions != current.partitions)


def remove(draft: Draft, member_id: str, topics: TopicsImage, *, settles_empty: bool = True) -> None:
    """Remove a member that leaves or whose session timed out.

    With `settles_empty`, the assignment epoch follows if it was the last one.
    """
    # KIP-932, "Group epoch - Trigger a rebalance", for a member that leaves and one that is removed
    # (GroupMetadataManager.shareGroupFenceMember).
    remove_member(draft, member_id)
    bump_group_epoch(draft, topics, membership_changed=True)
    if settles_empty:
        settle_empty_group(draft)


def begin_restart(draft: Draft, partitions: PartitionsOfTopics, names: Mapping[UUID, str], *, is_new: bool) -> None:
    """Start to give partitions other start offsets. As in Kafka, that makes the group if there is none.

    Raises:
        NonEmptyGroupError: The group has members.
    """
    group = draft.group
    # Members would still fetch from the old start offsets. Kafka also requires an empty group
    # (throwIfShareGroupIsNotEmpty).
    if group.members:
        raise NonEmptyGroupError("The group is not empty.")
    # Without these two records, the group would have states, but would not exist for ListGroups and after a failover.
    if is_new:
        draft.write(ShareGroupMetadata(group.group_id, group.metadata))
        draft.write(ShareGroupTargetAssignmentMetadata(group.group_id, TargetEpoch(group.epoch)))
    state_partitions.begin_restart(draft, partitions, names)


def forget_topics(draft: Draft, topic_ids: Collection[UUID]) -> frozenset[UUID]:
    """Start to delete the states of topics, and return the topics that have some.

    Raises:
        NonEmptyGroupError: The group has members.
    """
    # Members would keep fetching from states that are gone. Kafka also requires an empty group.
    if draft.group.members:
        raise NonEmptyGroupError("The group is not empty.")
    return begin_deletion(draft, topic_ids)


def delete_group(draft: Draft) -> frozenset[UUID]:
    """Delete the group, or start to delete its share state, which must be gone first, and return the topics of that.

    Raises:
        NonEmptyGroupError: The group has members.
    """
    group: ShareGroup = draft.group
    # KIP-932 deletes only empty groups (ShareGroup.validateDeleteGroup in Kafka).
    if group.members:
        raise NonEmptyGroupError(f"Group {group.group_id} is not empty.")
    deleting = begin_deletion(draft, tuple(group.state_partitions.topic_names))
    # The order of the tombstones is that of ShareGroup.createGroupTombstoneRecords. Members have none, as there are no
    # members.
    if not deleting:
        draft.write(ShareGroupTargetAssignmentMetadata(group.group_id, None))
        draft.write(ShareGroupStatePartitionMetadata(group.group_id, None))
        draft.write(ShareGroupMetadata(group.group_id, None))
    return deleting
