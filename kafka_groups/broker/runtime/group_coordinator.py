"""The group coordinator of one broker: the groups whose partitions of `__consumer_offsets` the broker leads."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar
from uuid import UUID

from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.shard import GroupShard
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.share.members import MemberClient, validate
from kafka_groups.broker.coordinators.groups.share.responses import describe_group
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime
from kafka_groups.broker.runtime.outcome import Outcome
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.messages.share_group_describe import DescribedGroup
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["GroupCoordinator"]

T = TypeVar("T")


class GroupCoordinator:
    """Operations on groups. The request waits until its records are committed.

    Each method that waits raises NotCoordinatorError if another broker coordinates the group or has taken it over,
    CoordinatorLoadInProgressError while the group's records are being read, and CoordinatorNotAvailableError if the log
    refused records.

    Args:
        runtime: Has the shards.
        topics: The topics of the cluster.
        clock: The clock of the broker.
    """

    def __init__(self, runtime: CoordinatorRuntime[GroupShard], topics: TopicsImage, clock: Clock) -> None:
        self.runtime = runtime
        self._topics = topics
        self._clock = clock

    def __repr__(self) -> str:
        return f"<GroupCoordinator on {self.runtime!r}>"

    async def heartbeat(self, request: ShareGroupHeartbeatRequest, client: MemberClient) -> ShareGroupHeartbeatResponse:
        """Handle a heartbeat: a member joins, stays or leaves.

        The state of new share-partitions is initialised after the response is made, so they are assigned with a
        later heartbeat.

        Raises:
            BrokerError: As for `GroupShard.heartbeat`.
        """
        validate(request)
        now_ms = self._clock.now_ms()
        return await self._run(request.group_id, lambda shard: shard.heartbeat(request, client, now_ms))

    async def describe(self, group_id: str) -> DescribedGroup:
        """Return a group as ShareGroupDescribe shows it.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        return await self._run(group_id, lambda shard: Result(describe_group(shard.group(group_id), self._topics)))

    async def initialized_partitions(self, group_id: str) -> Mapping[UUID, frozenset[int]]:
        """Return the share-partitions of a group that have state, by topic id. Empty if the group does not exist."""

        def initialized(shard: GroupShard) -> Result[Mapping[UUID, frozenset[int]], GroupRecord]:
            group = shard.groups.get(group_id)
            return Result({} if group is None else group.state_partitions.initialized)

        return await self._run(group_id, initialized)

    async def delete_group(self, group_id: str) -> None:
        """Delete a group and the state of its share-partitions.

        Raises:
            BrokerError: As for `GroupShard.delete_group`, or what the share coordinator refused with.
        """
        await self._run(group_id, lambda shard: shard.delete_group(group_id))

    async def alter_start_offsets(
        self, group_id: str, offsets: Mapping[tuple[UUID, int], int], names: Mapping[UUID, str]
    ) -> None:
        """Begin the states of share-partitions afresh, with these start offsets. A group that does not exist is made.

        Args:
            group_id: The group.
            offsets: Start offset by topic id and partition, which all exist.
            names: The names of the topics.

        Raises:
            BrokerError: As for `GroupShard.alter_start_offsets`, or what the share coordinator refused with.
        """
        await self._run(group_id, lambda shard: shard.alter_start_offsets(group_id, offsets, names))

    async def delete_start_offsets(self, group_id: str, topic_ids: Collection[UUID]) -> frozenset[UUID]:
        """Delete the states of all share-partitions of topics, and return the topics that had some.

        Raises:
            BrokerError: As for `GroupShard.delete_start_offsets`, or what the share coordinator refused with.
        """
        return await self._run(group_id, lambda shard: shard.delete_start_offsets(group_id, topic_ids))

    def groups(self) -> list[ShareGroup]:
        """Return the groups of this broker. Do not modify them.

        Raises:
            CoordinatorLoadInProgressError: Some are still being read.
        """
        return [group for shard in self.runtime.shards() for group in shard.groups.values()]

    def group_now(self, group_id: str) -> ShareGroup | None:
        """Return a group of this broker if it is there, to look at: for tests."""
        shard = self.runtime.active_shard(self.runtime.index_of(group_id))
        return None if shard is None else shard.groups.get(group_id)

    async def _run(self, group_id: str, operation: Callable[[GroupShard], Result[T, GroupRecord]]) -> T:
        outcome: Outcome[T] = Outcome()
        self.runtime.run(self.runtime.index_of(group_id), operation, outcome)
        return await outcome.wait()
