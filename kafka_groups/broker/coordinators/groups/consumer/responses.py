"""Responses to requests about consumer groups, created from the groups."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerGroup, regex_of
from kafka_groups.broker.coordinators.groups.consumer.records import AssignedPartitions, ConsumerAssignment
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeAssignment,
    ConsumerGroupDescribeResponseGroup,
    ConsumerGroupDescribeResponseMember,
    ConsumerGroupDescribeTopicPartitions,
    ConsumerMemberType,
)
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatAssignment,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)

__all__ = ["described_group", "leave_response", "stay_response"]


def stay_response(
    member_id: str, current: ConsumerAssignment, heartbeat_interval_ms: int, *, has_assignment: bool
) -> ConsumerGroupHeartbeatResponse:
    """Return the response to a member that joined or stayed."""
    return ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=current.member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        assignment=_assignment(current.assigned) if has_assignment else None,
    )


def leave_response(member_id: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
    """Return the response to a member that left, for good or for a while."""
    return ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch)


def described_group(group: ConsumerGroup, assignor: str, topics: TopicsImage) -> ConsumerGroupDescribeResponseGroup:
    """Return a group as ConsumerGroupDescribe shows it."""
    return ConsumerGroupDescribeResponseGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor,
        members=tuple(_described_member(group, member_id, topics) for member_id in sorted(group.members)),
    )


def _described_member(group: ConsumerGroup, member_id: str, topics: TopicsImage) -> ConsumerGroupDescribeResponseMember:
    member, current = group.members[member_id], group.current_of(member_id)
    # A member still owns what it has to revoke, so both count as its assignment
    # (ConsumerGroupMember.asConsumerGroupDescribeMember).
    has = {topic: {**current.revoking.get(topic, {}), **epochs} for topic, epochs in current.assigned.items()}
    return ConsumerGroupDescribeResponseMember(
        member_id=member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=current.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed_topic_names,
        subscribed_topic_regex=regex_of(member),
        assignment=_described_assignment({**current.revoking, **has}, topics),
        target_assignment=_described_assignment(group.target.get(member_id, {}), topics),
        member_type=ConsumerMemberType.CLASSIC if member.classic_member_metadata else ConsumerMemberType.CONSUMER,
    )


def _described_assignment(
    partitions: Mapping[UUID, Iterable[int]], topics: TopicsImage
) -> ConsumerGroupDescribeAssignment:
    """Topics that do not exist any more are left out."""
    known = ((topics.topic_by_id(topic_id), topic_id) for topic_id in sorted(partitions))
    return ConsumerGroupDescribeAssignment(
        topic_partitions=tuple(
            ConsumerGroupDescribeTopicPartitions(
                topic_id=topic_id, topic_name=topic.name, partitions=tuple(sorted(partitions[topic_id]))
            )
            for topic, topic_id in known
            if topic is not None
        )
    )


def _assignment(partitions: AssignedPartitions) -> ConsumerGroupHeartbeatAssignment:
    return ConsumerGroupHeartbeatAssignment(
        topic_partitions=tuple(
            ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions[topic_id])))
            for topic_id in sorted(partitions)
        )
    )
