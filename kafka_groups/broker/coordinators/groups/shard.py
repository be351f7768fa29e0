"""One shard of the group coordinator: groups of all types, each of which has its folder, and committed offsets.

An operation is `(state, request, now_ms) → Result(response, records, effects)`. It validates first and then creates
records. Only `replay` changes the groups themselves. An operation may directly change only soft state, which is lost
when the coordinator moves, such as session deadlines.
"""

from collections.abc import Iterator
from itertools import islice

from kafka_groups.broker.coordinators.groups.by_type import GroupsByType
from kafka_groups.broker.coordinators.groups.classic.groups import ClassicGroups
from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.classic.replies import join_refused
from kafka_groups.broker.coordinators.groups.consumer.classic_members import ClassicConsumers
from kafka_groups.broker.coordinators.groups.consumer.groups import ConsumerGroups
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupRecord
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerSources
from kafka_groups.broker.coordinators.groups.group_type import CoordinatedGroup, GroupType
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.migration import GroupMigration
from kafka_groups.broker.coordinators.groups.offsets.retention import Expired, RetentionPolicy
from kafka_groups.broker.coordinators.groups.offsets.shard_offsets import ShardOffsets
from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.settings import (
    GroupConfigSources,
    classic_settings,
    consumer_rules,
    streams_rules,
)
from kafka_groups.broker.coordinators.groups.share.groups import ShareGroups
from kafka_groups.broker.coordinators.groups.streams.groups import StreamsGroups
from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupRecord
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.coordinators.shard import LogUpkeep
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.errors import IllegalStateError
from kafka_groups.protocol.coordinator_records.consumer_group import OfConsumerGroup
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, OffsetCommit
from kafka_groups.protocol.coordinator_records.streams_group import OfStreamsGroup
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponseGroup
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponseGroup
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH as JOIN_STREAMS_EPOCH,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["GroupShard"]

_MINUTE_MS = 60_000
_GROUPS_AT_ONCE = 200
"""The number of groups that start together after loading."""


class GroupShard:
    """Groups and committed offsets.

    Args:
        topics: The current topics of the cluster.
        configs: The configuration of groups.
        settings: The settings of the broker.
        sources: The sources of ids, tokens and time.
        profile: The release that it acts as.

    Attributes:
        share: The share groups.
        consumer: The consumer groups.
        streams: The streams groups.
        classic: The classic groups. A commit of offsets from outside of any group makes one.
        offsets: The committed offsets.
    """

    def __init__(
        self,
        topics: TopicsImage,
        configs: GroupConfigSources,
        settings: BrokerSettings,
        sources: ClassicSources,
        profile: Profile = DEFAULT_PROFILE,
    ) -> None:
        self.share = ShareGroups(topics, configs.share, settings.group_max_size, profile, sources.new_token)
        rules = consumer_rules(configs, settings)
        self.consumer = ConsumerGroups(topics, rules, ConsumerSources(sources.new_id, sources.wall_ms))
        self.streams = StreamsGroups(topics, streams_rules(configs, settings, sources.wall_ms, profile))
        self.classic = ClassicGroups(classic_settings(settings), sources)
        self._by_type = GroupsByType(self.share, self.consumer, self.streams, self.classic)
        members = ClassicConsumers(self.consumer, topics, rules)
        self._migration = GroupMigration(self.classic, self.consumer, members, rules, topics)
        policy = RetentionPolicy(
            settings.offsets_retention_minutes * _MINUTE_MS, settings.offsets_retention_check_interval_ms
        )
        self.offsets = ShardOffsets(topics, policy, self._by_type)

    def __repr__(self) -> str:
        parts = (self.share, self.consumer, self.streams, self.classic, self.offsets)
        return f"<GroupShard: {', '.join(map(repr, parts))}>"

    def type_of(self, group_id: str) -> GroupType | None:
        """Return the type of a group, or None if it does not exist."""
        return self._by_type.type_of(group_id)

    def listed(self) -> Iterator[CoordinatedGroup]:
        """Return what ListGroups shows of the groups."""
        return self._by_type.listed()

    # --------------------------------------------------------------------------------------- hard state

    def replay(self, record: GroupRecord, offset: int, producer: Producer | None = None) -> None:
        """Apply a record to the state. The order of records with different keys does not matter."""
        if isinstance(record, OffsetCommit):
            self.offsets.replay(record, offset, producer)
        # Groups change outside of transactions. A record that claims otherwise is not from a group coordinator.
        elif producer is not None:
            raise IllegalStateError(f"Only offsets may belong to a transaction, but {record!r} does.")
        elif isinstance(record, ClassicGroupMetadata):
            self.classic.replay(record)
        elif isinstance(record, OfConsumerGroup | OfStreamsGroup):
            self._replay_replacing(record)
        else:
            self.share.replay(record)

    def end_transaction(self, producer: Producer, offset: int, *, committed: bool) -> None:
        """Apply the offsets of a transaction, or forget them."""
        self.offsets.end_transaction(producer, offset, committed=committed)

    def loaded(self, now_ms: int, wall_ms: int) -> Iterator[Result[None, GroupRecord]]:
        """Start sessions of members, forget offsets of deleted topics, and return what is outstanding."""
        yield from self.share.loaded(now_ms)
        yield from self.consumer.loaded(now_ms)
        yield from self.streams.loaded(now_ms)
        group_ids = iter(tuple(self.classic.groups))
        while some := tuple(islice(group_ids, _GROUPS_AT_ONCE)):
            self.classic.loaded(now_ms, some)
            yield Result(None)
        yield from self.offsets.loaded(now_ms)

    def metadata_changed(self, now_ms: int, wall_ms: int) -> Result[None, GroupRecord]:
        """Forget what groups know of topics that no longer exist."""
        shares = self.share.metadata_changed()
        return Result(None, (*shares.records, *self.offsets.metadata_changed()), shares.effects)

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None."""
        parts = (self.offsets, self.share, self.consumer, self.streams, self.classic)
        deadlines = [each.next_deadline_ms() for each in parts]
        return min((each for each in deadlines if each is not None), default=None)

    def expire(self, now_ms: int, wall_ms: int) -> Result[None, GroupRecord]:
        """Remove members whose session timed out, offsets that have expired, and groups that had no others."""
        shares, consumers = self.share.expire(now_ms), self._migration.settled(self.consumer.expire(now_ms), now_ms)
        streams, classic = self.streams.expire(now_ms), self.classic.expire(now_ms)
        expired = self.offsets.expire(now_ms, wall_ms)
        forgotten = [record for group in expired for record in self._forgotten(group)]
        records = (*shares.records, *consumers.records, *streams.records, *classic.records, *forgotten)
        return Result(None, records, (*classic.effects, *streams.effects))

    def tidy(self, log: LogUpkeep, wall_ms: int) -> tuple[GroupRecord, ...]:
        """Compact the log when more than half of its records are not needed."""
        log.compact_some()
        return ()

    def share_groups_with(self, group_id: str) -> ShareGroups:
        """Return the share groups, for an operation on this one, whether or not it exists.

        Raises:
            GroupIdNotFoundError: The group is of another type.
        """
        self._by_type.check_type(group_id, GroupType.SHARE)
        return self.share

    # ---------------------------------------------------------------------------------- consumer groups

    def consumer_group_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[ConsumerGroupHeartbeatResponse, GroupRecord]:
        """Handle a heartbeat of a member of a consumer group. A classic group becomes one.

        Raises:
            BrokerError: The group is full, or the member is unknown or fenced.
        """
        type_ = self.type_of(request.group_id)
        # Only a member that joins converts a classic group (GroupMetadataManager.getOrMaybeCreateConsumerGroup).
        if type_ is GroupType.CLASSIC and request.member_epoch == JOIN_GROUP_EPOCH:
            return self._migration.upgrade_and_beat(request, client, version, now_ms)
        self._by_type.check_type(request.group_id, GroupType.CONSUMER)
        return self._migration.settled(self.consumer.heartbeat(request, client, version, now_ms), now_ms)

    def consumer_group_describe(self, group_id: str) -> Result[ConsumerGroupDescribeResponseGroup, GroupRecord]:
        """Return what ConsumerGroupDescribe shows of a group.

        Raises:
            GroupIdNotFoundError: The group does not exist, or is of another type.
        """
        self._by_type.check_type(group_id, GroupType.CONSUMER)
        return Result(self.consumer.describe(group_id))

    # ---------------------------------------------------------------------------------- streams groups

    def streams_group_heartbeat(
        self, request: StreamsGroupHeartbeatRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[StreamsGroupHeartbeatResponse, GroupRecord]:
        """Handle a heartbeat of a member of a streams group. An empty classic group becomes one.

        Raises:
            BrokerError: The group is full, the member is unknown or fenced, or the topology is invalid.
        """
        # KIP-1071 has an online migration; Kafka only replaces an empty classic group
        # (GroupMetadataManager.getOrCreateStreamsGroup). Its committed offsets stay and are those of the streams group.
        becomes_streams = self._is_empty_classic(request.group_id) and request.member_epoch == JOIN_STREAMS_EPOCH
        if not becomes_streams:
            self._by_type.check_type(request.group_id, GroupType.STREAMS)
        heartbeat = self.streams.heartbeat(request, client, version, now_ms)
        replaced = (ClassicGroupMetadata(request.group_id, None),) if becomes_streams else ()
        return Result(heartbeat.response, (*replaced, *heartbeat.records), heartbeat.effects)

    def streams_groups_with(self, group_id: str) -> StreamsGroups:
        """Return the streams groups, for an operation on this one, whether or not it exists.

        Raises:
            GroupIdNotFoundError: The group is of another type.
        """
        self._by_type.check_type(group_id, GroupType.STREAMS)
        return self.streams

    def _is_empty_classic(self, group_id: str) -> bool:
        return self.type_of(group_id) is GroupType.CLASSIC and self.classic.group(group_id).is_empty

    # ----------------------------------------------------------------------------------- classic groups

    def join_group(
        self, request: JoinGroupRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[JoinGroupResponse | None, GroupRecord]:
        """Let a member join by the classic protocol. Errors are in the response."""
        match self.type_of(request.group_id):
            # The cases of GroupMetadataManager.classicGroupJoin: a share group never becomes another type, a consumer
            # group takes classic members, and a streams group has to be empty.
            case GroupType.SHARE:
                return Result(join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, version))
            case GroupType.CONSUMER:
                return self._migration.join(request, client, version, now_ms)
            case GroupType.STREAMS:
                return self._join_streams(request, client, version, now_ms)
        joined = self.classic.join(request, client, version, now_ms)
        return Result(joined.response, joined.records, joined.effects, joined.parked)

    def _join_streams(
        self, request: JoinGroupRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[JoinGroupResponse | None, GroupRecord]:
        """Let a member join a streams group by the classic protocol: only an empty one becomes a classic group."""
        if not self._by_type.is_empty(request.group_id):
            return Result(join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, version))
        joined = self.classic.join(request, client, version, now_ms)
        deleted = self.streams.delete(request.group_id) if request.group_id in self.classic.groups else ()
        return Result(joined.response, (*deleted, *joined.records), joined.effects, joined.parked)

    def sync_group(self, request: SyncGroupRequest, now_ms: int) -> Result[SyncGroupResponse | None, GroupRecord]:
        """Give a member that speaks the classic protocol its assignment. Errors are in the response."""
        # Share and streams groups are not among the classic groups, so their members get UNKNOWN_MEMBER_ID there, as in
        # GroupMetadataManager.classicGroupSync.
        if self.type_of(request.group_id) is GroupType.CONSUMER:
            given = self._migration.members.sync(request, now_ms)
            return Result(given.response, given.records)
        synced = self.classic.sync(request, now_ms)
        return Result(synced.response, synced.records, synced.effects, synced.parked)

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> Result[HeartbeatResponse, GroupRecord]:
        """Keep the session of a member that speaks the classic protocol. Errors are in the response."""
        is_of_consumers = self.type_of(request.group_id) is GroupType.CONSUMER
        groups = self._migration.members if is_of_consumers else self.classic
        answered = groups.heartbeat(request, now_ms)
        return Result(answered.response, answered.records)

    def leave_group(
        self, request: LeaveGroupRequest, version: int, now_ms: int
    ) -> Result[LeaveGroupResponse, GroupRecord]:
        """Remove members from a classic group or a consumer group. Errors are in the response, for each member."""
        # Kafka's classicGroupLeave has the same two types; for all others the group does not exist.
        if self.type_of(request.group_id) is GroupType.CONSUMER:
            return self._migration.settled(self.consumer.leave(request, version), now_ms)
        return self.classic.leave(request, version, now_ms)

    def describe_group(self, group_id: str) -> Result[DescribeGroupsResponseGroup, GroupRecord]:
        """Return what DescribeGroups shows of a group.

        Raises:
            GroupIdNotFoundError: The group does not exist, or is of another type.
        """
        self._by_type.check_type(group_id, GroupType.CLASSIC)
        return Result(self.classic.describe(group_id))

    # ------------------------------------------------------------------------------------------ the end

    def delete_group(self, group_id: str) -> Result[None, GroupRecord]:
        """Delete a group and all that is stored of it.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        # Share groups have no committed offsets to delete, but share states, which takes an answer of the share
        # coordinator.
        if self.type_of(group_id) in {None, GroupType.SHARE}:
            return self.share.delete_group(group_id)
        deleted = self._by_type.deleted(group_id)
        return Result(None, (*self.offsets.delete_all(group_id), *deleted))

    # ------------------------------------------------------------------------------------------ insides

    def _replay_replacing(self, record: ConsumerGroupRecord | StreamsGroupRecord) -> None:
        """Apply a record of a group that is a classic one before it exists and after its end, if it has offsets."""
        group_id = record.group_id
        groups: ConsumerGroups | StreamsGroups = self.consumer
        if isinstance(record, OfStreamsGroup):
            groups = self.streams
            self.streams.replay(record)
        else:
            self.consumer.replay(record)
        if group_id in groups.groups:
            # Kafka keeps one object for each group id, so a new type replaces the old one. Here each type has a table
            # of its own, from which the classic group has to be removed.
            if record.value is not None:
                self.classic.replay(ClassicGroupMetadata(group_id, None))
        # Offsets may outlive the records of their group, for example while it is being deleted. They need a group, so
        # that they can be listed, expire and be deleted.
        elif self.offsets.table.of_group(group_id):
            self.classic.ensure(group_id)

    def _forgotten(self, expired: Expired) -> tuple[GroupRecord, ...]:
        # A group without members and offsets has no purpose left (GroupMetadataManager.maybeDeleteGroup). Share groups
        # do not expire: KIP-932, "Share group states".
        is_over = expired.is_all and self._by_type.is_empty(expired.group_id)
        return (*expired.records, *(self._by_type.deleted(expired.group_id) if is_over else ()))
