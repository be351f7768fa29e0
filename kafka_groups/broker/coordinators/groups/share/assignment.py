"""Target assignment and reconciliation (KIP-932, "Rebalance process"; KIP-1263).

Members of a share group do not wait for each other: with its next heartbeat, a member gets its part of the target
assignment, even if other members still fetch from the same partitions.
"""

from kafka_groups.broker.coordinators.groups.assignors import simple
from kafka_groups.broker.coordinators.groups.share.group import Draft, ShareGroup
from kafka_groups.broker.coordinators.groups.share.records import CurrentAssignment
from kafka_groups.broker.coordinators.groups.share.subscriptions import assignable_partitions, ids_of_existing
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupCurrentMemberAssignment,
    ShareGroupTargetAssignmentMember,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["ASSIGNOR_NAME", "needs_target", "reconcile", "settle_empty_group", "update_target"]

ASSIGNOR_NAME = simple.NAME

_NO_EPOCH = 0


def needs_target(group: ShareGroup) -> bool:
    """Return whether the target assignment is older than the group epoch."""
    # KIP-932, "Assignment epoch - Compute the group assignment", has the assignor run in exactly this case.
    return group.assignment_epoch < group.epoch


def update_target(draft: Draft, topics: TopicsImage) -> None:
    """Compute the target assignment for the group epoch, starting from the current one."""
    group = draft.group
    ids = {each: ids_of_existing(each, topics) for each in {m.subscribed_topic_names for m in group.members.values()}}
    # The assignor is sticky to the former target assignment, not to what members fetch from now: nobody confirms
    # assignments, so the target is what they have, at the latest with their next heartbeat.
    specs = {
        member: simple.MemberSpec(ids[known.subscribed_topic_names], group.target.get(member, frozenset()))
        for member, known in group.members.items()
    }
    target = simple.assign(specs, assignable_partitions(group, topics))
    for member, partitions in sorted(target.items()):
        # Only targets that differ are written (TargetAssignmentBuilder.build in Kafka).
        if group.target.get(member) != partitions:
            draft.write(ShareGroupTargetAssignmentMember(group.group_id, member, partitions))
    draft.write(ShareGroupTargetAssignmentMetadata(group.group_id, TargetEpoch(group.epoch)))


def settle_empty_group(draft: Draft) -> None:
    """Mark the target assignment of an empty group as current, because there is nothing to compute."""
    group = draft.group
    # Kafka 4.4 does so in shareGroupFenceMember, when the last member goes.
    if not group.members:
        draft.write(ShareGroupTargetAssignmentMetadata(group.group_id, TargetEpoch(group.epoch)))


def reconcile(draft: Draft, member: str, topics: TopicsImage) -> None:
    """Move a member to the target epoch and its part of the target assignment, unless it is already there.

    While the target assignment is older than the group epoch (KIP-1263), the member only gets partitions of topics that
    it still subscribes to and that still exist.
    """
    group = draft.group
    names = frozenset(group.members[member].subscribed_topic_names)
    # KIP-932, "Member epoch - Reconciliation of the group": the member loses and gains partitions at the same time.
    # Kafka does this in ShareGroupAssignmentBuilder.build, with the same filter by topics (filterAssignedPartitions).
    partitions = frozenset(p for p in group.target.get(member, frozenset()) if _is_named(p, names, topics))
    known = group.current.get(member)
    # A member that moves to a new epoch may repeat a heartbeat whose response was lost, so its former epoch stays
    # valid. If only its partitions change, the epochs stay.
    previous = _NO_EPOCH if known is None else known.member_epoch
    if known is not None and known.member_epoch == group.assignment_epoch:
        previous = known.previous_member_epoch
    reached = CurrentAssignment(group.assignment_epoch, previous, partitions)
    if reached != known:
        draft.write(ShareGroupCurrentMemberAssignment(group.group_id, member, reached))


def _is_named(partition: TopicIdPartition, names: frozenset[str], topics: TopicsImage) -> bool:
    topic = topics.topic_by_id(partition.topic_id)
    return topic is not None and topic.name in names
