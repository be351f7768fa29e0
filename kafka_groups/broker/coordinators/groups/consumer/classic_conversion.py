"""A group with members changes its type: from classic to consumer, and back (KIP-848)."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.coordinators.groups.classic.supported_protocols import elected
from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.members import classic_of
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerAssignment
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerRules
from kafka_groups.broker.coordinators.groups.consumer.subscriptions import metadata_hash
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Effect
from kafka_groups.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    subscription_version,
)
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadata,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.offsets import GroupMetadataMember, GroupMetadataValue

__all__ = ["BecomesClassic", "as_classic", "delete_all", "from_classic", "may_become_classic"]

_CONSUMER = "consumer"


@frozen
class BecomesClassic(Effect):
    """A consumer group has only members of the classic protocol, and becomes a classic group with them.

    Attributes:
        group_id: The group.
        generation: The first generation of the classic group.
        rebalances: Whether it starts a round at once.
    """

    group_id: str
    generation: GroupMetadataValue
    rebalances: bool


def from_classic(
    group_id: str, known: GroupMetadataValue, protocols: Mapping[str, ClassicMemberMetadata], topics: TopicsImage
) -> ConsumerDraft:
    """Return a consumer group with the members of a classic group, which keep their partitions.

    Args:
        group_id: The group.
        known: The generation of the classic group.
        protocols: By member, what it supports.
        topics: The topics of the cluster.

    Raises:
        MemberDataError: A subscription or an assignment cannot be read.
    """
    # The order of the records is that of ConsumerGroup.createConsumerGroupRecords. Epochs start at the classic
    # generation, so that members of the classic protocol see them grow.
    draft = ConsumerDraft(ConsumerGroup(group_id))
    for member in known.members:
        said = _joined(member, protocols[member.member_id])
        draft.write(ConsumerGroupMemberMetadata(group_id, member.member_id, said))
    epoch = ConsumerGroupMetadataValue(epoch=known.generation, metadata_hash=metadata_hash(draft.group, topics))
    draft.write(ConsumerGroupMetadata(group_id, epoch))
    for member in known.members:
        # What the leader has assigned is target and current assignment at once: members own it already, so nothing
        # moves before the first assignment of the new group.
        numbers = dict(_existing(ConsumerProtocolAssignment.decode(member.assignment).assigned_partitions, topics))
        draft.write(ConsumerGroupTargetAssignmentMember(group_id, member.member_id, numbers))
    draft.write(ConsumerGroupTargetAssignmentMetadata(group_id, TargetEpoch(known.generation)))
    for member in known.members:
        target = draft.group.target[member.member_id]
        assigned = {topic: dict.fromkeys(numbers, known.generation) for topic, numbers in target.items()}
        current = ConsumerAssignment(
            member_epoch=known.generation, previous_member_epoch=known.generation, assigned=assigned
        )
        draft.write(ConsumerGroupCurrentMemberAssignment(group_id, member.member_id, current))
    return draft


def may_become_classic(group: ConsumerGroup, rules: ConsumerRules) -> bool:
    """Return whether a group has members that all speak the classic protocol, and may become a classic group."""
    # These are the conditions of GroupMetadataManager.validateOnlineDowngradeWithFencedMembers: members are left that
    # all speak the classic protocol, the migration policy allows it, and a classic group may have so many.
    if not rules.allows_downgrade or not 0 < len(group.members) <= rules.classic_max_size:
        return False
    return all(member.classic_member_metadata is not None for member in group.members.values())


def as_classic(group: ConsumerGroup, topics: TopicsImage, wall_ms: int) -> GroupMetadataValue:
    """Return the generation of a classic group with the members of a consumer group and their target assignments."""
    protocol = _elected_protocol(group)
    members = (_stored(group, member_id, protocol, topics) for member_id in group.members)
    return GroupMetadataValue(
        protocol_type=_CONSUMER,
        # The group epoch is the highest number that any member can have seen (ClassicGroup.fromConsumerGroup).
        generation=group.epoch,
        protocol=protocol,
        # A classic group needs a leader. Whoever it is, the next round elects one.
        leader=next(iter(group.members)),
        current_state_timestamp_ms=wall_ms,
        members=tuple(members),
    )


def delete_all(draft: ConsumerDraft) -> None:
    """Delete all that is stored of a group, in Kafka's order."""
    group, group_id = draft.group, draft.group.group_id
    for member_id in tuple(group.current):
        draft.write(ConsumerGroupCurrentMemberAssignment(group_id, member_id, None))
    for member_id in tuple(group.target):
        draft.write(ConsumerGroupTargetAssignmentMember(group_id, member_id, None))
    draft.write(ConsumerGroupTargetAssignmentMetadata(group_id, None))
    for member_id in tuple(group.members):
        draft.write(ConsumerGroupMemberMetadata(group_id, member_id, None))
    draft.write(ConsumerGroupPartitionMetadata(group_id))
    draft.write(ConsumerGroupMetadata(group_id, None))


def _joined(member: GroupMetadataMember, classic: ClassicMemberMetadata) -> ConsumerGroupMemberMetadataValue:
    # A group that has yet to choose a protocol has no subscription in the form of it.
    metadata = member.subscription or classic.supported_protocols[0].metadata
    subscription = ConsumerProtocolSubscription.decode(metadata)
    return ConsumerGroupMemberMetadataValue(
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        subscribed_topic_regex="",
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        classic_member_metadata=classic,
    )


def _stored(group: ConsumerGroup, member_id: str, protocol: str, topics: TopicsImage) -> GroupMetadataMember:
    member = group.members[member_id]
    classic = classic_of(member)
    subscription = {each.name: each.metadata for each in classic.supported_protocols}[protocol]
    target = group.target.get(member_id, {})
    names = {topic.name: tuple(sorted(target[id_])) for id_ in target if (topic := topics.topic_by_id(id_)) is not None}
    return GroupMetadataMember(
        member_id=member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=classic.session_timeout_ms,
        subscription=subscription,
        assignment=ConsumerProtocolAssignment(names, version=subscription_version(subscription)).encode(),
    )


def _elected_protocol(group: ConsumerGroup) -> str:
    """Return the protocol that the members choose."""
    return elected(
        [[each.name for each in classic_of(member).supported_protocols] for member in group.members.values()]
    )


def _existing(partitions: Mapping[str, tuple[int, ...]], topics: TopicsImage) -> Iterator[tuple[UUID, tuple[int, ...]]]:
    for name, numbers in partitions.items():
        topic = topics.topic(name)
        existing = () if topic is None else tuple(each for each in numbers if 0 <= each < topic.num_partitions)
        # Topics and partitions that do not exist any more have no id or place in the new group.
        if topic is not None and existing:
            yield topic.topic_id, existing
