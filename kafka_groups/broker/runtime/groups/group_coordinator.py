"""The group coordinator of one broker: the groups whose partitions of `__consumer_offsets` the broker leads."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TypeVar
from uuid import UUID

from attrs import evolve

from kafka_groups.assignment.application.assignor_run import Computed
from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.group_type import CoordinatedGroup
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.coordinators.groups.offsets.shard_offsets import FetchedOffset
from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS, GroupRecord
from kafka_groups.broker.coordinators.groups.shard import GroupShard
from kafka_groups.broker.coordinators.groups.share.effects import ShareStateEffect
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.share.responses import described_group
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment, CreateInternalTopics
from kafka_groups.broker.coordinators.groups.streams.responses import with_creation_failures, with_missing_rights
from kafka_groups.broker.coordinators.internal_topic import InternalTopic
from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.log.producers import Verification
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import GROUP_TOPIC
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime, ShardKind
from kafka_groups.broker.runtime.groups.assignor_runs import AssignorRuns
from kafka_groups.broker.runtime.groups.group_counters import GroupCounters
from kafka_groups.broker.runtime.groups.internal_topic_creation import InternalTopicCreation
from kafka_groups.broker.runtime.groups.share_state_effects import ShareStateEffects
from kafka_groups.broker.runtime.led_shard import Done, ShardAddress
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.share_state.share_persister import SharePersister
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.errors import BrokerError, IllegalStateError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue
from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponseGroup
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponseGroup
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_groups.protocol.messages.share_group_describe import DescribedGroup
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeResponseGroup
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_groups.types import TopicPartition, random_uuid

__all__ = ["GroupCoordinator", "group_topic"]

T = TypeVar("T")


def group_topic(settings: BrokerSettings, metadata: ClusterMetadata) -> InternalTopic:
    """Return the topic that keeps groups and committed offsets."""
    configs = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
    partitions, replicas = settings.offsets_topic_num_partitions, settings.offsets_topic_replication_factor
    return InternalTopic(GROUP_TOPIC, partitions, replicas, configs, metadata)


def _none_of(_topics: Sequence[str]) -> Sequence[str]:
    return ()


class GroupCoordinator:
    """Operations on groups. The request waits until its records are committed.

    Each method that waits raises NotCoordinatorError if another broker coordinates the group or has taken it over,
    CoordinatorLoadInProgressError while the group's records are being read, and CoordinatorNotAvailableError if the log
    refused records.

    Args:
        broker: The broker that hosts it.
        persister: The way to the share coordinators, which have the states of share groups.

    Attributes:
        topic: `__consumer_offsets`.
        runtime: Has the shards.
        peer_apis: None: only clients ask about groups.
        counters: The counters so far.
    """

    peer_apis: tuple[ApiKey, ...] = ()

    def __init__(self, broker: BrokerParts, persister: SharePersister) -> None:
        cluster = broker.cluster
        self.topic = group_topic(cluster.settings, cluster.metadata)
        kind = ShardKind(self.topic.name, GROUP_RECORDS, _new_shards(broker), self._perform)
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(broker, kind)
        self.counters = GroupCounters()
        self._topics = cluster.metadata
        self._clock = cluster.clock
        self._share_states = ShareStateEffects(persister, self._settle)
        self._internal_topics = InternalTopicCreation(cluster.metadata, cluster.settings, cluster.clock, broker.soon)
        timeout_ms = cluster.settings.streams_assignor_timeout_ms
        self._assignors = AssignorRuns(cluster.run_aside, broker.later, cluster.clock, timeout_ms)

    def __repr__(self) -> str:
        return f"<GroupCoordinator on {self.runtime!r}>"

    async def share_group_heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: MemberClient
    ) -> ShareGroupHeartbeatResponse:
        """Handle a valid heartbeat: a member joins, stays or leaves.

        The state of new share-partitions is initialised after the response is made, so they are assigned with a
        later heartbeat.

        Raises:
            BrokerError: The group is of another type or full, or the member is unknown or fenced.
        """
        now_ms = self._clock.now_ms()
        return await self._run(
            request.group_id,
            lambda shard: shard.share_groups_with(request.group_id).heartbeat(request, client, now_ms),
            self.counters.heard if request.member_epoch >= 0 else None,
        )

    async def share_group_describe(self, group_id: str) -> DescribedGroup:
        """Return a group as ShareGroupDescribe shows it.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        return await self._run(
            group_id,
            lambda shard: Result(described_group(shard.share_groups_with(group_id).group(group_id), self._topics)),
        )

    async def consumer_group_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client: MemberClient, version: int
    ) -> ConsumerGroupHeartbeatResponse:
        """Handle a heartbeat of a consumer group: a member joins, stays or leaves.

        Raises:
            BrokerError: The group is of another type or full, or the member is unknown or fenced.
        """
        now_ms = self._clock.now_ms()
        return await self._run(
            request.group_id,
            lambda shard: shard.consumer_group_heartbeat(request, client, version, now_ms),
            self.counters.heard if request.member_epoch >= 0 else None,
        )

    async def consumer_group_describe(self, group_id: str) -> ConsumerGroupDescribeResponseGroup:
        """Return a group as ConsumerGroupDescribe shows it.

        Raises:
            GroupIdNotFoundError: The group does not exist, or is of another type.
        """
        return await self._run(group_id, lambda shard: shard.consumer_group_describe(group_id))

    async def streams_group_heartbeat(
        self,
        request: StreamsGroupHeartbeatRequest,
        client: MemberClient,
        version: int,
        uncreatable: Callable[[Sequence[str]], Sequence[str]] = _none_of,
    ) -> StreamsGroupHeartbeatResponse:
        """Handle a heartbeat of a streams group: a member joins, stays or leaves.

        Internal topics that are missing are created after the response is made. If that has failed before, the response
        says why. If the client may not create one of them, none is created, and the response names those.

        Args:
            request: The heartbeat.
            client: Its sender.
            version: Version of the request.
            uncreatable: Returns which of some topics the client may not create.

        Raises:
            BrokerError: The group has another type or is full, or the member or its topology is invalid.
        """
        now_ms = self._clock.now_ms()
        wanted: list[str] = []
        refused: list[str] = []

        def beat(shard: GroupShard) -> Result[StreamsGroupHeartbeatResponse, GroupRecord]:
            result = shard.streams_group_heartbeat(request, client, version, now_ms)
            creations = (effect for effect in result.effects if isinstance(effect, CreateInternalTopics))
            wanted.extend(info.name for effect in creations for info in effect.topics)
            refused.extend(uncreatable(wanted) if wanted else ())
            return _without_creations(result) if refused else result

        note = self.counters.heard if request.member_epoch >= 0 else None
        response = await self._run(request.group_id, beat, note)
        if refused:
            return with_missing_rights(response, refused)
        return with_creation_failures(response, self._internal_topics.failures_of(wanted))

    async def streams_group_topology_description_update(
        self, request: StreamsGroupTopologyDescriptionUpdateRequest
    ) -> None:
        """Keep the description of a streams group's topology.

        Raises:
            BrokerError: The group or the member is unknown, or the description does not fit the topology.
        """

        def update(shard: GroupShard) -> Result[None, GroupRecord]:
            return Result(None, shard.streams_groups_with(request.group_id).update_description(request).records)

        await self._run(request.group_id, update, self.counters.stored)

    async def streams_group_describe(
        self, group_id: str, *, with_description: bool = False
    ) -> StreamsGroupDescribeResponseGroup:
        """Return a group as StreamsGroupDescribe shows it, with the description of its topology if that is wanted.

        Raises:
            GroupIdNotFoundError: The group does not exist, or is of another type.
        """

        def describe(shard: GroupShard) -> Result[StreamsGroupDescribeResponseGroup, GroupRecord]:
            groups = shard.streams_groups_with(group_id)
            return Result(groups.describe(group_id, with_description=with_description))

        return await self._run(group_id, describe, self.counters.described)

    async def initialized_partitions(self, group_id: str) -> Mapping[UUID, frozenset[int]]:
        """Return the share-partitions of a group that have state, by topic id. Empty if the group does not exist."""

        def initialized(shard: GroupShard) -> Result[Mapping[UUID, frozenset[int]], GroupRecord]:
            group = shard.share.groups.get(group_id)
            return Result({} if group is None else group.state_partitions.initialized)

        return await self._run(group_id, initialized)

    async def delete_group(self, group_id: str) -> None:
        """Delete a group and the state of its share-partitions.

        Raises:
            BrokerError: The group does not exist or has members, or the share coordinator refused to delete the state.
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
            BrokerError: The group has members, or the share coordinator refused the offsets.
        """
        await self._run(
            group_id, lambda shard: shard.share_groups_with(group_id).alter_start_offsets(group_id, offsets, names)
        )

    async def delete_start_offsets(self, group_id: str, topic_ids: Collection[UUID]) -> frozenset[UUID]:
        """Delete the states of all share-partitions of topics, and return the topics that had some.

        Raises:
            BrokerError: The group does not exist or has members, or the share coordinator refused.
        """
        return await self._run(
            group_id, lambda shard: shard.share_groups_with(group_id).delete_start_offsets(group_id, topic_ids)
        )

    async def join_group(self, request: JoinGroupRequest, client: MemberClient, version: int) -> JoinGroupResponse:
        """Let a member join a classic group. It waits until the round ends. Other errors are in the response."""
        now_ms = self._clock.now_ms()
        response = await self._run(request.group_id, lambda shard: shard.join_group(request, client, version, now_ms))
        return _given(response)

    async def sync_group(self, request: SyncGroupRequest) -> SyncGroupResponse:
        """Give a member of a classic group its assignment. It waits for the leader."""
        now_ms = self._clock.now_ms()
        response = await self._run(
            request.group_id, lambda shard: shard.sync_group(request, now_ms), self.counters.synced
        )
        return _given(response)

    async def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Keep the session of a member of a classic group. Other errors are in the response."""
        now_ms = self._clock.now_ms()
        return await self._run(request.group_id, lambda shard: shard.heartbeat(request, now_ms))

    async def leave_group(self, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        """Remove members from a classic group or a consumer group. Other errors are in the response."""
        now_ms = self._clock.now_ms()
        return await self._run(request.group_id, lambda shard: shard.leave_group(request, version, now_ms))

    async def describe_group(self, group_id: str) -> DescribeGroupsResponseGroup:
        """Return a group as DescribeGroups shows it.

        Raises:
            GroupIdNotFoundError: The group does not exist, or is of another type.
        """
        return await self._run(group_id, lambda shard: shard.describe_group(group_id))

    async def commit_offsets(
        self,
        group_id: str,
        committer: OffsetCommitter,
        version: int,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
    ) -> None:
        """Store offsets of a group.

        Args:
            group_id: The group.
            committer: The sender of the commit.
            version: Version of the request, on which errors depend.
            offsets: The offsets. Their topics exist.

        Raises:
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        now_ms = self._clock.now_ms()
        await self._run(
            group_id,
            lambda shard: shard.offsets.commit(group_id, committer, version, offsets, now_ms),
            self.counters.committed,
        )

    async def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Check whether offsets of a group may be fetched.

        Raises:
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        await self._run(group_id, lambda shard: shard.offsets.check_fetch(group_id, member_id, epoch))

    def commit_in_transaction(
        self,
        group_id: str,
        committer: OffsetCommitter,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        producer: Producer,
        verification: Verification | None,
        done: Done[None],
    ) -> None:
        """Store offsets of a group that count when a transaction is committed.

        Args:
            group_id: The group.
            committer: The sender of the commit.
            offsets: The offsets. Their topics exist.
            producer: The producer of the transaction.
            verification: What the transaction coordinator was asked, if the transaction may begin here.
            done: Takes the outcome. The errors are those of `commit_offsets`, and those of a producer.
        """
        now_ms = self._clock.now_ms()

        def commit(shard: GroupShard) -> Result[None, GroupRecord]:
            return shard.offsets.commit_in_transaction(group_id, committer, offsets, producer, now_ms)

        noted = partial(_noted, commit, self.counters.committed)
        self.runtime.run(self.runtime.index_of(group_id), noted, done, verification=verification)

    async def fetch_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition], *, require_stable: bool = False
    ) -> tuple[FetchedOffset, ...]:
        """Return a group's offsets of some partitions; see `ShardOffsets.fetch`."""
        return await self._run(
            group_id, lambda shard: shard.offsets.fetch(group_id, partitions, require_stable=require_stable)
        )

    async def committed_partitions(self, group_id: str) -> tuple[TopicPartition, ...]:
        """Return all partitions that a group has committed offsets for."""
        return await self._run(group_id, lambda shard: shard.offsets.partitions_of(group_id))

    async def delete_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> None:
        """Forget offsets of a group.

        Raises:
            BrokerError: The group does not exist, has unknown subscriptions, or subscribes to a topic.
        """
        await self._run(group_id, lambda shard: shard.offsets.delete(group_id, partitions), self.counters.deleted)

    def listed(self) -> list[CoordinatedGroup]:
        """Return what ListGroups shows of the groups of this broker.

        Raises:
            CoordinatorLoadInProgressError: Some are still being read.
        """
        return [group for shard in self.runtime.shards() for group in shard.listed()]

    def group_now(self, group_id: str) -> ShareGroup | None:
        """Return a group of this broker if it is there, to look at: for tests."""
        shard = self.runtime.active_shard(self.runtime.index_of(group_id))
        return None if shard is None else shard.share.groups.get(group_id)

    def _perform(self, effect: Effect, address: ShardAddress) -> None:
        if isinstance(effect, CreateInternalTopics):
            self._internal_topics.perform(effect)
        elif isinstance(effect, ComputeAssignment):
            self._assignors.start(effect, partial(self._take_assignment, address, effect))
        else:
            self._share_states.perform(effect, address)

    def _take_assignment(self, address: ShardAddress, effect: ComputeAssignment, result: Computed | Exception) -> None:
        now_ms = self._clock.now_ms()
        self.runtime.run(
            address.index,
            lambda shard: shard.streams.assignment_computed(effect, result, now_ms),
            _ignore,
            epoch=address.epoch,
        )

    def _settle(self, address: ShardAddress, effect: ShareStateEffect, error: BrokerError | None) -> None:
        self.runtime.run(
            address.index, lambda shard: shard.share.share_state_settled(effect, error), _ignore, epoch=address.epoch
        )

    async def _run(
        self,
        group_id: str,
        operation: Callable[[GroupShard], Result[T, GroupRecord]],
        note: Callable[[Result[T, GroupRecord]], None] | None = None,
    ) -> T:
        noted = operation if note is None else partial(_noted, operation, note)
        return await outcome_of(partial(self.runtime.run, self.runtime.index_of(group_id), noted))


def _new_shards(broker: BrokerParts) -> Callable[[], GroupShard]:
    cluster = broker.cluster
    rng = cluster.new_rng(f"{broker.node_id}/groups")
    sources = ClassicSources(count(1).__next__, partial(random_uuid, rng), cluster.clock.wall_ms)
    return lambda: GroupShard(cluster.metadata, cluster.group_configs, cluster.settings, sources, cluster.profile)


def _ignore(_outcome: object) -> None:
    """Ignore the response; the effects carry the result."""


def _noted(
    operation: Callable[[GroupShard], Result[T, GroupRecord]],
    note: Callable[[Result[T, GroupRecord]], None],
    shard: GroupShard,
) -> Result[T, GroupRecord]:
    result = operation(shard)
    note(result)
    return result


def _without_creations(result: Result[T, GroupRecord]) -> Result[T, GroupRecord]:
    left = tuple(effect for effect in result.effects if not isinstance(effect, CreateInternalTopics))
    return evolve(result, effects=left)


def _given(response: T | None) -> T:
    if response is None:
        raise IllegalStateError("A request that is not parked has no response.")
    return response
