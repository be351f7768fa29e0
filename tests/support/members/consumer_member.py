"""A member of a consumer group that does only what a test has it do (KIP-848)."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponseGroup,
)
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.support.cluster_client import Topic
from tests.support.requests.raw_client import RawClient

__all__ = ["Beat", "ConsumerMember", "Numbers", "described", "partitions_in"]

NEWEST = 1
REBALANCE_MS = 30_000

Numbers = dict[str, tuple[int, ...]]
"""Partition numbers by topic name."""


@frozen
class Beat:
    """What a heartbeat was answered. Without an assignment, it has not changed."""

    error: str
    message: str | None
    member_id: str | None
    epoch: int
    assignment: Numbers | None


class ConsumerMember:
    """A member. It remembers the epoch of the last answer, and nothing else.

    Attributes:
        member_id: Its id.
        epoch: The epoch of its next heartbeat.
    """

    def __init__(
        self, client: RawClient, group_id: str, member_id: str, topics: Iterable[Topic], instance: str | None = None
    ) -> None:
        self.client = client
        self.group_id = group_id
        self.member_id = member_id
        self.instance = instance
        self.epoch = JOIN_GROUP_EPOCH
        self._topics = {topic.name: topic for topic in topics}

    async def beat(
        self, epoch: int | None = None, owned: Mapping[str, Iterable[int]] | None = None, **fields: Any
    ) -> Beat:
        """Send a heartbeat, and note the epoch of the answer if it is not an error."""
        version = fields.pop("version", NEWEST)
        values: dict[str, Any] = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "member_epoch": self.epoch if epoch is None else epoch,
            "instance_id": self.instance,
        }
        if owned is not None:
            values["topic_partitions"] = tuple(
                ConsumerGroupHeartbeatTopicPartitions(topic_id=self._topics[name].topic_id, partitions=tuple(numbers))
                for name, numbers in owned.items()
            )
        if fields.get("subscribed_topic_names") is not None:
            fields["subscribed_topic_names"] = tuple(fields["subscribed_topic_names"])
        response = await self.client.ask(ConsumerGroupHeartbeatRequest(**(values | fields)), version)
        assignment = response.assignment and self._numbers(response.assignment.topic_partitions)
        error = response.error_code.name
        if error == "NONE":
            self.epoch = response.member_epoch
        return Beat(error, response.error_message, response.member_id, response.member_epoch, assignment)

    async def join(self, *names: str, **fields: Any) -> Beat:
        """Join with epoch 0."""
        values = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": names or None, **fields}
        return await self.beat(JOIN_GROUP_EPOCH, {}, **values)

    async def leave(self) -> Beat:
        """Leave for good."""
        return await self.beat(LEAVE_GROUP_EPOCH)

    async def leave_for_a_while(self) -> Beat:
        """Leave as a static member that will return."""
        return await self.beat(LEAVE_STATIC_EPOCH)

    async def commit(self, topic: Topic, numbers: Iterable[int] = (0,), **fields: Any) -> list[str]:
        """Commit offsets; returns the names of the errors."""
        version = fields.pop("version", 9)
        values: dict[str, Any] = {
            "group_id": self.group_id,
            "generation_id_or_member_epoch": self.epoch,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        partitions = tuple(
            OffsetCommitRequestPartition(partition_index=number, committed_offset=5, committed_metadata="")
            for number in numbers
        )
        named = OffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
        response = await self.client.ask(OffsetCommitRequest(**(values | fields), topics=(named,)), version)
        return [each.error_code.name for each in response.topics[0].partitions]

    async def fetch_offset(self, topic: Topic, **fields: Any) -> tuple[str, list[int]]:
        """Fetch the offset of partition 0; returns the name of the group's error, and the offset if there is none."""
        version = fields.pop("version", 9)
        values: dict[str, Any] = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch}
        named = OffsetFetchRequestTopic(name=topic.name, topic_id=topic.topic_id, partition_indexes=(0,))
        group = OffsetFetchRequestGroup(**(values | fields), topics=(named,))
        [found] = (await self.client.ask(OffsetFetchRequest(groups=(group,)), version)).groups
        offsets = [each.committed_offset for topic in found.topics for each in topic.partitions]
        return found.error_code.name, offsets

    def _numbers(self, topics: Iterable[ConsumerGroupHeartbeatTopicPartitions]) -> Numbers:
        names: dict[UUID | None, str] = {topic.topic_id: topic.name for topic in self._topics.values()}
        return {names[each.topic_id]: tuple(sorted(each.partitions)) for each in topics}


async def described(client: RawClient, group_id: str) -> ConsumerGroupDescribeResponseGroup:
    """What ConsumerGroupDescribe shows of a group."""
    request = ConsumerGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False)
    [group] = (await client.ask(request, NEWEST)).groups
    assert isinstance(group, ConsumerGroupDescribeResponseGroup)
    return group


def partitions_in(assignment: ConsumerGroupDescribeAssignment) -> Numbers:
    """The partitions of a described assignment."""
    return {each.topic_name: tuple(sorted(each.partitions)) for each in assignment.topic_partitions}
