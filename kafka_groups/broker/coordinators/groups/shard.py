"""One shard of the group coordinator: groups by id, and the operations on them.

An operation is `(state, request, now_ms) → Result(response, records)`. It validates first and then creates records.
Only `replay` changes the groups themselves. An operation may directly change only soft state, which is lost when the
coordinator moves: session deadlines, and the time at which a target assignment was last computed.
"""

from collections.abc import Callable, Collection, Mapping, Set
from types import MappingProxyType
from uuid import UUID

from kafka_groups.broker.coordinators.groups.records import GroupEpoch, GroupRecord, TopicPartitions
from kafka_groups.broker.coordinators.groups.sessions import MemberKey, SessionTable
from kafka_groups.broker.coordinators.groups.share import operations
from kafka_groups.broker.coordinators.groups.share.draft import Draft
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.share.members import (
    MemberClient,
    check_can_join,
    check_member_epoch,
    group_of_member,
    validate,
)
from kafka_groups.broker.coordinators.groups.share.responses import heartbeat_response, leave_response
from kafka_groups.broker.coordinators.groups.share.state_partitions import (
    drop_deleted_topics,
    finish_deletion,
    finish_initialization,
)
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.broker import ShareGroupConfig
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.protocol.messages.share_group_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["GroupShard"]


class GroupShard:
    """Share groups and the sessions of their members.

    Args:
        topics: The current topics of the cluster.
        config_of: Returns the effective configuration of a group id.
        max_size: Maximum number of members in a group (`group.share.max.size`).
        profile: The release that it acts as.
    """

    def __init__(
        self,
        topics: TopicsImage,
        config_of: Callable[[str], ShareGroupConfig],
        max_size: int,
        profile: Profile = DEFAULT_PROFILE,
    ) -> None:
        self._topics = topics
        self._config_of = config_of
        self._max_size = max_size
        self._profile = profile
        self._groups: dict[str, ShareGroup] = {}
        self._sessions = SessionTable()
        self._target_computed_ms: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<GroupShard: {len(self._groups)} groups, {len(self._sessions)} sessions>"

    @property
    def groups(self) -> Mapping[str, ShareGroup]:
        """The hard state: groups by id. Do not modify them."""
        return MappingProxyType(self._groups)

    def group(self, group_id: str) -> ShareGroup:
        """Return one group. Do not modify it.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"Group {group_id} not found.")
        return group

    def groups_with_state_of(self, topic_ids: Set[UUID]) -> list[str]:
        """Return the groups that have share state of one of these topics, in the order in which they were created."""
        if not topic_ids:
            return []
        return [each for each, group in self._groups.items() if topic_ids & group.state_partitions.topic_names.keys()]

    # --------------------------------------------------------------------------------------- hard state

    def replay(self, record: GroupRecord) -> None:
        """Apply a record to the state. The order of records with different keys does not matter."""
        group = self._groups.setdefault(record.group_id, ShareGroup(record.group_id))
        group.replay(record)
        if group == ShareGroup(record.group_id):
            del self._groups[record.group_id]
            self._target_computed_ms.pop(record.group_id, None)

    def start_sessions(self, now_ms: int) -> None:
        """Start a new session for every member, after the hard state was loaded."""
        for group in self._groups.values():
            for member_id in group.members:
                self._extend_session(group.group_id, member_id, now_ms)

    # --------------------------------------------------------------------------------------- operations

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: MemberClient, now_ms: int
    ) -> Result[ShareGroupHeartbeatResponse, GroupRecord]:
        """Handle a heartbeat: a member joins, stays or leaves.

        Raises:
            InvalidRequestError: The request is malformed.
            GroupIdNotFoundError: The group does not exist, and the member is not joining.
            UnknownMemberIdError: The group does not have the member, and the member is not joining.
            FencedMemberEpochError: The epoch is neither the member's current epoch nor its previous one.
            GroupMaxSizeReachedError: The group is full.
        """
        validate(request)
        group = self._groups.get(request.group_id)
        if request.member_epoch == JOIN_EPOCH:
            check_can_join(group, request.member_id, self._max_size)
            return self._stay(group or self._new_group(request.group_id), request, client, now_ms)
        group = group_of_member(group, request.group_id, request.member_id)
        if request.member_epoch == LEAVE_EPOCH:
            return self._leave(group, request.member_id)
        check_member_epoch(group, request.member_id, request.member_epoch)
        return self._stay(group, request, client, now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None if no group has members."""
        return self._sessions.next_deadline_ms()

    def expire(self, now_ms: int) -> Result[tuple[MemberKey, ...], GroupRecord]:
        """Remove the members whose session timed out. The response contains them."""
        expired = self._sessions.take_expired(now_ms)
        drafts: dict[str, Draft] = {}
        for key in expired:
            group = self._groups.get(key.group_id)
            if group is not None and key.member_id in group.members:
                draft = drafts.setdefault(key.group_id, Draft(group))
                self._remove(draft, key.member_id)
        return Result(tuple(expired), tuple(record for draft in drafts.values() for record in draft.records))

    def delete_group(self, group_id: str) -> Result[None, GroupRecord]:
        """Delete a group. Its share state must be deleted first.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        draft = Draft(self.group(group_id))
        operations.delete_group(draft)
        return Result(None, tuple(draft.records))

    def begin_restart(
        self, group_id: str, partitions: TopicPartitions, names: Mapping[UUID, str]
    ) -> Result[int, GroupRecord]:
        """Start to give share-partitions other start offsets. Returns the epoch of their states.

        Raises:
            NonEmptyGroupError: The group has members.
        """
        known = self._groups.get(group_id)
        draft = Draft(known or self._new_group(group_id))
        operations.begin_restart(draft, partitions, names, is_new=known is None)
        return Result(draft.group.epoch, tuple(draft.records))

    def forget_topics(self, group_id: str, topic_ids: Collection[UUID]) -> Result[TopicPartitions, GroupRecord]:
        """Forget the start offsets of topics. Returns the share-partitions whose state must be deleted.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        draft = Draft(self.group(group_id))
        return Result(operations.forget_topics(draft, topic_ids), tuple(draft.records))

    def drop_deleted_topics(self, group_id: str) -> Result[None, GroupRecord]:
        """Start to delete the share state of topics that no longer exist."""
        draft = Draft(self.group(group_id))
        drop_deleted_topics(draft, self._topics)
        return Result(None, tuple(draft.records))

    def share_state_settled(self, group_id: str) -> Result[None, GroupRecord]:
        """Record that the share coordinator has finished all initialisations and deletions."""
        draft = Draft(self.group(group_id))
        if draft.group.state_partitions.initializing:
            finish_initialization(draft)
        if draft.group.state_partitions.deleting:
            finish_deletion(draft)
        return Result(None, tuple(draft.records))

    # ------------------------------------------------------------------------------------------ insides

    def _stay(
        self, group: ShareGroup, request: ShareGroupHeartbeatRequest, client: MemberClient, now_ms: int
    ) -> Result[ShareGroupHeartbeatResponse, GroupRecord]:
        config = self._config_of(group.group_id)
        draft = Draft(group)
        may_compute = self._may_compute_target(group, config, now_ms)
        result = operations.heartbeat(draft, request, client, self._topics, may_compute_target=may_compute)
        if result.computed_target:
            self._target_computed_ms[group.group_id] = now_ms
        self._sessions.extend(MemberKey(group.group_id, request.member_id), now_ms + config.session_timeout_ms)
        return Result(heartbeat_response(request, result, config), tuple(draft.records))

    def _new_group(self, group_id: str) -> ShareGroup:
        # The first member increases the epoch by one.
        return ShareGroup(group_id, GroupEpoch(self._profile.first_share_group_epoch - 1, 0))

    def _remove(self, draft: Draft, member_id: str) -> None:
        operations.remove(draft, member_id, self._topics, settles_empty=self._profile.settles_empty_share_groups)

    def _leave(self, group: ShareGroup, member_id: str) -> Result[ShareGroupHeartbeatResponse, GroupRecord]:
        draft = Draft(group)
        self._remove(draft, member_id)
        self._sessions.end(MemberKey(group.group_id, member_id))
        return Result(leave_response(member_id), tuple(draft.records))

    def _may_compute_target(self, group: ShareGroup, config: ShareGroupConfig, now_ms: int) -> bool:
        """Return whether the assignment interval of the group has passed. The first assignment never waits."""
        computed_ms = self._target_computed_ms.get(group.group_id)
        is_settled = self._profile.settles_empty_share_groups and not group.members
        if computed_ms is None or is_settled:
            return True
        return now_ms >= computed_ms + config.assignment_interval_ms

    def _extend_session(self, group_id: str, member_id: str, now_ms: int) -> None:
        deadline_ms = now_ms + self._config_of(group_id).session_timeout_ms
        self._sessions.extend(MemberKey(group_id, member_id), deadline_ms)
