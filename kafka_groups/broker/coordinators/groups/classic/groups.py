"""All classic groups of one shard of the group coordinator, and the operations on them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from attrs import evolve

from kafka_groups.broker.coordinators.groups.classic import rounds
from kafka_groups.broker.coordinators.groups.classic.classic_changes import (
    ClassicChanges,
    ClassicTimers,
    TimerKey,
    TimerKind,
)
from kafka_groups.broker.coordinators.groups.classic.group import NO_TIMESTAMP, ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources, JoinAttempt, JoinResult
from kafka_groups.broker.coordinators.groups.classic.leaving import leave, leave_missing
from kafka_groups.broker.coordinators.groups.classic.replies import join_refused, sync_refused
from kafka_groups.broker.coordinators.groups.classic.settings import ClassicGroupSettings
from kafka_groups.broker.coordinators.groups.classic.states import ClassicGroupEvent, ClassicGroupState
from kafka_groups.broker.coordinators.groups.classic.syncing import SyncAttempt, SyncResult
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.errors import (
    BrokerError,
    GroupIdNotFoundError,
    IllegalGenerationError,
    InvalidGroupIdError,
    InvalidSessionTimeoutError,
    NonEmptyGroupError,
    UnknownMemberIdError,
    error_for,
)
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, GroupMetadataValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import (
    DescribeGroupsResponseGroup,
    DescribeGroupsResponseMember,
)
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_groups.protocol.messages.join_group import JoinGroupRequest
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest

__all__ = ["ClassicGroups", "ClassicSources"]

_REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
_KEEPS_SESSION = frozenset({ClassicGroupState.STABLE, ClassicGroupState.PREPARING_REBALANCE})


class ClassicGroups:
    """The classic groups of one shard.

    Args:
        settings: The settings of the broker.
        sources: The sources of ids, tokens and time.
    """

    def __init__(self, settings: ClassicGroupSettings, sources: ClassicSources) -> None:
        self._settings = settings
        self._sources = sources
        self._groups: dict[str, ClassicGroup] = {}
        self._timers = ClassicTimers()

    def __repr__(self) -> str:
        return f"<ClassicGroups: {len(self._groups)} groups, {len(self._timers)} deadlines>"

    @property
    def groups(self) -> Mapping[str, ClassicGroup]:
        """The groups by id. Do not modify them."""
        return MappingProxyType(self._groups)

    @property
    def timers(self) -> ClassicTimers:
        """The deadlines. Do not modify them."""
        return self._timers

    def group(self, group_id: str) -> ClassicGroup:
        """Return one group. Do not modify it.

        Raises:
            GroupIdNotFoundError: There is no such group.
        """
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"Group {group_id} not found.")
        return group

    # ---------------------------------------------------------------------------------------- hard state

    def replay(self, record: ClassicGroupMetadata) -> None:
        """Apply a record."""
        if record.value is None:
            self._forget(record.group)
        else:
            self.ensure(record.group).replay(record.value)

    def ensure(self, group_id: str) -> ClassicGroup:
        """Return a group, after making one without members if there is none.

        It needs no record: it is made when offsets are committed, or loaded, for a group that does not exist.
        """
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = ClassicGroup(group_id)
        return group

    def adopt(self, group_id: str, value: GroupMetadataValue, now_ms: int, *, rebalances: bool) -> ClassicGroupMetadata:
        """Take over the members of a group that was a consumer group, once the record is stored, and start a round."""
        group, changes = self.ensure(group_id), self._changes(now_ms)

        def stored() -> None:
            group.adopt(value)
            for member in group.members.values():
                changes.start_session(group, member)
            if rebalances:
                rounds.rebalance(group, changes)

        group.announce(value, stored)
        return ClassicGroupMetadata(group_id, value)

    def loaded(self, now_ms: int, group_ids: Iterable[str] | None = None) -> None:
        """Start a session for every member of these groups, or of all, after all records have been replayed.

        Groups with more members than they may have start a round, so that their members can commit offsets first.
        """
        changes = self._changes(now_ms)
        for group in [self._groups[each] for each in (self._groups if group_ids is None else group_ids)]:
            for member in group.members.values():
                changes.start_session(group, member)
            # `group.max.size` may have been lowered while no coordinator was running. A round lets in as many members
            # as there may be, and the others get GROUP_MAX_SIZE_REACHED (GroupMetadataManager.onLoaded in Kafka).
            if group.state is ClassicGroupState.STABLE and len(group.members) > self._settings.max_size:
                rounds.rebalance(group, changes)

    # ------------------------------------------------------------------------------------------- members

    def join(self, request: JoinGroupRequest, client: MemberClient, version: int, now_ms: int) -> JoinResult:
        """Let a member join a group, which is made if a new member is the first to name it.

        The request is parked until the round ends, unless nothing has to change. Errors are in the response.
        """
        changes = self._changes(now_ms)
        try:
            # These checks come before any group is looked up (GroupCoordinatorService.joinGroup in Kafka).
            self._check_join(request)
        except BrokerError as error:
            return changes.result(join_refused(ErrorCode(error.code), version, request.member_id))
        # Kafka writes a record of a group that a JoinGroup has created
        # (GroupMetadataManager.classicGroupJoinToClassicGroup).
        is_new = request.group_id not in self._groups
        group = self.ensure(request.group_id)
        attempt = JoinAttempt(group, request, client, version, self._sources, changes)
        try:
            result = attempt.run()
        except BrokerError as error:
            result = changes.result(join_refused(ErrorCode(error.code), version, request.member_id))
        return self._with_first_record(group, result, changes.wall_ms) if is_new else result

    def sync(self, request: SyncGroupRequest, now_ms: int) -> SyncResult:
        """Give a member its assignment. Until the leader has sent it, the request is parked.

        Errors are in the response.
        """
        changes = self._changes(now_ms)
        try:
            group = self._group_of_members(request.group_id)
            return SyncAttempt(group, request, self._sources, changes).run()
        except BrokerError as error:
            return changes.result(sync_refused(ErrorCode(error.code)))

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> Result[HeartbeatResponse, ClassicGroupMetadata]:
        """Extend the session of a member. REBALANCE_IN_PROGRESS tells it to join again. Errors are in the response."""
        try:
            group = self._group_of_members(request.group_id)
            # The order of the checks is that of GroupMetadataManager.validateClassicGroupHeartbeat in Kafka.
            group.check_member(request.member_id, request.group_instance_id)
            if request.generation_id != group.generation:
                raise IllegalGenerationError(f"Group {group.group_id} is in generation {group.generation}.")
        except BrokerError as error:
            return Result(HeartbeatResponse(error_code=ErrorCode(error.code)))
        self._extend_session(group, request.member_id, now_ms)
        # While the leader computes assignments (CompletingRebalance), members send ordinary heartbeats: the generation
        # is new, and they have joined it (GroupMetadataManager.classicGroupHeartbeatToClassicGroup).
        is_preparing = group.state is ClassicGroupState.PREPARING_REBALANCE
        return Result(HeartbeatResponse(error_code=_REBALANCING if is_preparing else ErrorCode.NONE))

    def leave(
        self, request: LeaveGroupRequest, version: int, now_ms: int
    ) -> Result[LeaveGroupResponse, ClassicGroupMetadata]:
        """Remove members from a group. Errors are in the response, for each member."""
        changes = self._changes(now_ms)
        # Kafka has INVALID_GROUP_ID for an empty id only. KIP-345, "Command Line API for Membership Management", has it
        # for a missing group, too, but Kafka answers UNKNOWN_MEMBER_ID for each member then.
        if not request.group_id:
            return changes.result(LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        group = self._groups.get(request.group_id)
        if group is None:
            return changes.result(leave_missing(request, version))
        return changes.result(leave(group, request, version, changes))

    def check_session_timeout(self, request: JoinGroupRequest) -> None:
        """Check the session timeout of a member that joins.

        Raises:
            InvalidSessionTimeoutError: It is outside of the bounds.
        """
        settings = self._settings
        if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
            raise InvalidSessionTimeoutError

    def _check_join(self, request: JoinGroupRequest) -> None:
        if not request.group_id:
            raise InvalidGroupIdError
        self.check_session_timeout(request)
        # Only a new member creates a group. One with an id was a member of a group that is gone: it has to start afresh
        # (GroupMetadataManager.classicGroupJoinToClassicGroup).
        if request.member_id and request.group_id not in self._groups:
            raise UnknownMemberIdError

    def _group_of_members(self, group_id: str) -> ClassicGroup:
        if not group_id:
            raise InvalidGroupIdError
        group = self._groups.get(group_id)
        # SyncGroup and Heartbeat come from members, and an empty group has none.
        if group is None or group.is_empty:
            raise UnknownMemberIdError
        return group

    def _with_first_record(self, group: ClassicGroup, result: JoinResult, wall_ms: int) -> JoinResult:
        """Let a group that a member has just made exist for other coordinators, too, before it has a generation."""
        value = GroupMetadataValue(
            protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp_ms=wall_ms
        )
        group.announce(value, lambda: None)
        return evolve(result, records=(ClassicGroupMetadata(group.group_id, value), *result.records))

    # ------------------------------------------------------------------------------------------- offsets

    def check_commit(self, group_id: str, committer: OffsetCommitter, now_ms: int) -> None:
        """Check whether offsets may be committed, and extend the session of the member that commits them.

        In a transaction the state of the group does not matter, and no session is extended.

        Raises:
            GroupIdNotFoundError: There is no such group. The caller decides what that means, or calls `ensure` before.
            UnknownMemberIdError: The group has members, and this is none of them.
            FencedInstanceIdError: The instance has been started again.
            IllegalGenerationError: The member is in another generation.
            BrokerError: REBALANCE_IN_PROGRESS: the leader has yet to assign partitions.
        """
        # The checks and their order are those of ClassicGroup.validateOffsetCommit in Kafka.
        group = self.group(group_id)
        member_id, generation = committer.member_id, committer.generation
        # An admin client, or a consumer that assigns partitions to itself, may commit as long as no members could
        # disagree.
        if generation < 0 and group.is_empty:
            return
        if committer.names_no_member:
            raise UnknownMemberIdError(f"Only members of group {group_id} can commit offsets.")
        group.check_member(member_id, committer.group_instance_id)
        if generation != group.generation:
            raise IllegalGenerationError(f"Group {group_id} is in generation {group.generation}.")
        # Kafka does not enforce the group's state for transactions: the generation of the member is proof enough.
        if committer.is_transactional:
            return
        # The member is in the new generation, but has no assignment in it. So it cannot know whether the partition is
        # still its own.
        if group.state is ClassicGroupState.COMPLETING_REBALANCE:
            raise error_for(ErrorCode.REBALANCE_IN_PROGRESS, f"Group {group_id} is completing a rebalance.")
        # A commit shows that the member is alive, as a heartbeat does (OffsetMetadataManager.commitOffset in Kafka).
        if group.state in _KEEPS_SESSION:
            self._extend_session(group, member_id, now_ms)

    def check_offset_delete(self, group_id: str) -> None:
        """Check whether offsets may be deleted. In a consumer group, `is_subscribed` decides for each topic.

        Raises:
            GroupIdNotFoundError: There is no such group.
            NonEmptyGroupError: The group has members, and they are not consumers.
        """
        group = self.group(group_id)
        # The coordinator can read the topics of consumers only (ClassicGroup.validateOffsetDelete in Kafka). Offsets of
        # other members may be in use.
        if not group.is_empty and not group.is_of_consumers:
            raise NonEmptyGroupError(f"Group {group_id} has members.")

    def is_subscribed(self, group_id: str, topic: str) -> bool:
        """Return whether members of a consumer group subscribe to a topic, or may do so because it is not known.

        Raises:
            GroupIdNotFoundError: There is no such group.
        """
        return self.group(group_id).is_subscribed(topic)

    def expiry_timestamp_base(self, group_id: str, topic: str, commit_timestamp_ms: int) -> int | None:
        """Return the wall-clock time from which an offset is kept for `offsets.retention.minutes`.

        None: the offset does not expire, because the group has members that may use it.

        Raises:
            GroupIdNotFoundError: There is no such group.
        """
        group = self.group(group_id)
        # The cases are those of ClassicGroup.offsetExpirationCondition in Kafka. First, offsets of topics that members
        # subscribe to never expire (OffsetMetadataManager.cleanupExpiredOffsets).
        if group.is_subscribed(topic):
            return None
        # Second, nobody ever joined: consumers that assign partitions to themselves have only the time of their last
        # commit.
        if group.protocol_type is None:
            return commit_timestamp_ms
        # Third, the last member has left: the time counts from then on, however old the commit is. Old records of
        # groups lack it.
        if group.is_empty:
            return commit_timestamp_ms if group.state_timestamp_ms == NO_TIMESTAMP else group.state_timestamp_ms
        # Fourth, of a stable group of consumers, offsets of topics that nobody subscribes to any more expire. During a
        # rebalance, or if the subscriptions are not known, nothing does.
        is_known = group.state is ClassicGroupState.STABLE and group.knows_subscriptions
        return commit_timestamp_ms if is_known else None

    # ------------------------------------------------------------------------------------ administration

    def describe(self, group_id: str) -> DescribeGroupsResponseGroup:
        """Return what DescribeGroups shows of a group.

        Raises:
            GroupIdNotFoundError: There is no such group.
        """
        group = self.group(group_id)
        # As in Kafka, the protocol is shown only while all members agree on it. Assignments are always shown.
        protocol = group.protocol if group.state is ClassicGroupState.STABLE else None
        return DescribeGroupsResponseGroup(
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=protocol or "",
            members=tuple(
                DescribeGroupsResponseMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata(protocol),
                    member_assignment=member.assignment,
                )
                for member in group.members.values()
            ),
        )

    def delete(self, group_id: str) -> tuple[ClassicGroupMetadata, ...]:
        """Return the records that delete a group. Those of its offsets are not among them.

        Raises:
            GroupIdNotFoundError: There is no such group.
            NonEmptyGroupError: The group has members.
        """
        # See ClassicGroup.validateDeleteGroup in Kafka.
        if not self.group(group_id).is_empty:
            raise NonEmptyGroupError(f"Group {group_id} has members.")
        return (ClassicGroupMetadata(group_id, None),)

    # ----------------------------------------------------------------------------------------- deadlines

    def next_deadline_ms(self) -> int | None:
        """Return the time at which something is due, or None."""
        return self._timers.next_deadline_ms()

    def expire(self, now_ms: int) -> Result[None, ClassicGroupMetadata]:
        """Do what is due: remove silent members, and end rounds whose time is over."""
        changes = self._changes(now_ms)
        while (key := self._timers.take_due(now_ms)) is not None:
            group = self._groups[key.group_id]
            match key.kind:
                case TimerKind.SESSION:
                    rounds.end_session(group, key.member_id, changes)
                case TimerKind.JOIN:
                    rounds.end_join_wait(group, changes)
                case TimerKind.SYNC:
                    rounds.end_sync_wait(group, changes)
        return changes.result(None)

    def _changes(self, now_ms: int) -> ClassicChanges:
        return ClassicChanges(self._settings, self._timers, now_ms, self._sources.wall_ms())

    def _extend_session(self, group: ClassicGroup, member_id: str, now_ms: int) -> None:
        member = group.members.get(member_id)
        if member is not None:
            key = TimerKey(group.group_id, TimerKind.SESSION, member_id)
            self._timers.set(key, now_ms + member.session_timeout_ms)

    def _forget(self, group_id: str) -> None:
        group = self._groups.pop(group_id, None)
        if group is None:
            return
        group.transition(ClassicGroupEvent.DELETED, group.state_timestamp_ms)
        for member_id in (*group.members, *group.pending_joins):
            self._timers.cancel(TimerKey(group_id, TimerKind.SESSION, member_id))
        for kind in (TimerKind.JOIN, TimerKind.SYNC):
            self._timers.cancel(TimerKey(group_id, kind))
