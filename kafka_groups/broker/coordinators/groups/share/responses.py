"""Responses to requests about share groups, created from the groups."""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from kafka_groups.broker.coordinators.groups.share.assignment import ASSIGNOR_NAME
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.share.operations import HeartbeatResult
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.protocol.messages import share_group_describe as describe
from kafka_groups.protocol.messages import share_group_heartbeat as heartbeat
from kafka_groups.protocol.messages.share_group_heartbeat import LEAVE_EPOCH
from kafka_groups.types import TopicIdPartition

__all__ = ["described_group", "heartbeat_response", "leave_response"]


def heartbeat_response(
    request: heartbeat.ShareGroupHeartbeatRequest, result: HeartbeatResult, config: ShareGroupConfig
) -> heartbeat.ShareGroupHeartbeatResponse:
    """Return the response to a member that joined or stayed."""
    return heartbeat.ShareGroupHeartbeatResponse(
        member_id=request.member_id,
        member_epoch=result.current.member_epoch,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        assignment=_assignment(result.current.partitions) if result.send_assignment else None,
    )


def leave_response(member_id: str) -> heartbeat.ShareGroupHeartbeatResponse:
    """Return the response to a member that left."""
    return heartbeat.ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=LEAVE_EPOCH, heartbeat_interval_ms=0)


def described_group(group: ShareGroup, topics: TopicsImage) -> describe.DescribedGroup:
    """Return a group as ShareGroupDescribe shows it."""
    return describe.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=ASSIGNOR_NAME,
        members=tuple(_describe_member(group, member_id, topics) for member_id in sorted(group.members)),
    )


def _describe_member(group: ShareGroup, member_id: str, topics: TopicsImage) -> describe.Member:
    metadata, current = group.members[member_id], group.current_of(member_id)
    return describe.Member(
        member_id=member_id,
        rack_id=metadata.rack_id,
        member_epoch=current.member_epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.subscribed_topic_names,
        assignment=_described_assignment(current.partitions, topics),
    )


def _assignment(partitions: Iterable[TopicIdPartition]) -> heartbeat.Assignment:
    return heartbeat.Assignment(
        topic_partitions=tuple(
            heartbeat.TopicPartitions(topic_id=topic_id, partitions=numbers)
            for topic_id, numbers in _by_topic(partitions)
        )
    )


def _described_assignment(partitions: Iterable[TopicIdPartition], topics: TopicsImage) -> describe.DescribedAssignment:
    described = []
    for topic_id, numbers in _by_topic(partitions):
        topic = topics.topic_by_id(topic_id)
        # A topic that was deleted may still be assigned until the member's next heartbeat. It has no name to show any
        # more.
        if topic is not None:
            described.append(
                describe.DescribedTopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=numbers)
            )
    return describe.DescribedAssignment(topic_partitions=tuple(described))


def _by_topic(partitions: Iterable[TopicIdPartition]) -> list[tuple[UUID, tuple[int, ...]]]:
    numbers: defaultdict[UUID, list[int]] = defaultdict(list)
    for partition in partitions:
        numbers[partition.topic_id].append(partition.partition)
    return [(topic_id, tuple(sorted(numbers[topic_id]))) for topic_id in sorted(numbers)]
