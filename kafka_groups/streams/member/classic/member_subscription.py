"""The subscription that a member of a classic group joins with."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import NAMESPACE_OID, UUID, uuid5

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.protocol.consumer_protocol import NO_GENERATION, ConsumerProtocolSubscription, PartitionsByName
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, TaskOffsetSums
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["ClassicSubscription", "partitions_by_name", "read_topics"]

_INT64_MAX: Final = 2**63 - 1


@frozen(kw_only=True)
class ClassicSubscription:
    """The state of a member, for the leader of its group.

    Attributes:
        version: The version of the user data.
        generation: The generation in which it got its partitions; 0 if it has none.
        owned: The input partitions of the active tasks that it owns.
        positions: The positions of the tasks whose state this process has.
        unique_field: The count of the member's JoinGroup requests.
        topics: The topics that it reads. None: those of its topology.
        error_code: The code that asks all members to shut down, or 0.
    """

    version: int
    generation: int
    owned: Iterable[TopicPartition]
    positions: Mapping[TaskId, TaskPosition]
    unique_field: int
    topics: frozenset[str] | None = None
    error_code: int = 0

    def encode(self, description: MemberDescription) -> bytes:
        """Return the bytes for JoinGroup."""
        return ConsumerProtocolSubscription(
            topics=tuple(sorted(read_topics(description.topology) if self.topics is None else self.topics)),
            user_data=self._user_data(description),
            owned_partitions=partitions_by_name(self.owned),
            generation_id=self.generation or NO_GENERATION,
            rack_id=description.rack_id,
        ).encode()

    def _user_data(self, description: MemberDescription) -> bytes:
        endpoint = description.user_endpoint
        return SubscriptionInfo(
            process_id=_uuid_of(description.process_id),
            version=self.version,
            task_offset_sums=_sums(self.positions),
            user_endpoint=None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
            unique_field=_as_int8(self.unique_field),
            error_code=self.error_code,
            client_tags=tuple((tag.key, tag.value) for tag in description.client_tags),
        ).encode()


def read_topics(topology: GroupTopology) -> frozenset[str]:
    """Return the topics that tasks read, without global ones, and with those that the leader has to create."""
    return frozenset().union(*(each.read_topics for each in topology.subtopologies))


def partitions_by_name(partitions: Iterable[TopicPartition]) -> PartitionsByName:
    """Return partitions by the names of their topics, both sorted."""
    found: dict[str, list[int]] = {}
    for each in sorted(partitions):
        found.setdefault(each.topic, []).append(each.partition)
    return {topic: tuple(numbers) for topic, numbers in found.items()}


def _sums(positions: Mapping[TaskId, TaskPosition]) -> TaskOffsetSums:
    # User data has sub-topologies as numbers. What a program of another kind has left in the directory of the state is
    # none of this group's.
    known = ((task, each) for task, each in positions.items() if task.subtopology_id.isdecimal())
    return tuple((task, _sum(each)) for task, each in sorted(known, key=lambda it: (int(it[0].subtopology_id), it[0])))


def _sum(position: TaskPosition) -> int:
    # A leader must not compare a running task with ends that were asked for later: it is never behind
    # (Task.LATEST_OFFSET in Java). Sums stop at the largest number, as in StateDirectory.sumOfChangelogOffsets.
    return RUNNING_TASK if position.is_running else min(position.offset, _INT64_MAX)


def _uuid_of(process_id: str) -> UUID:
    try:
        return UUID(process_id)
    except ValueError:  # a name that somebody chose
        return uuid5(NAMESPACE_OID, process_id)


def _as_int8(count: int) -> int:
    return (count + 128) % 256 - 128
