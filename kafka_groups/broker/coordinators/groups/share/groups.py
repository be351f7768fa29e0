"""The share groups of one shard of the group coordinator, and the operations on them.

An operation is `(state, request, now_ms) → Result(response, records, effects)`. It checks first and then creates
records. Only `replay` changes the groups themselves. An operation may directly change only soft state, which is lost
when the coordinator moves: session deadlines, and the time at which a target assignment was last computed. The handler
of heartbeats has checked what does not depend on the group (`members.validate`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import count, islice
from types import MappingProxyType
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.share import operations, state_partitions
from kafka_groups.broker.coordinators.groups.share.effects import (
    DeleteShareState,
    InitializeShareState,
    ShareStateEffect,
)
from kafka_groups.broker.coordinators.groups.share.group import Draft, ShareGroup
from kafka_groups.broker.coordinators.groups.share.members import (
    check_can_join,
    check_member_epoch,
    group_of_member,
)
from kafka_groups.broker.coordinators.groups.share.records import PartitionsOfTopics, ShareGroupRecord
from kafka_groups.broker.coordinators.groups.share.responses import heartbeat_response, leave_response
from kafka_groups.broker.coordinators.groups.share.settled import Settled
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.broker.coordinators.result import Effect, Reply, Result
from kafka_groups.broker.coordinators.timers import Timers
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import BrokerError, GroupIdNotFoundError
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupMetadataValue
from kafka_groups.protocol.messages.share_group_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["MemberKey", "ShareGroups"]

_GROUPS_AT_ONCE = 200
"""The number of groups that start together after loading."""


@frozen(order=True)
class MemberKey:
    """One member of one group."""

    group_id: str
    member_id: str


class ShareGroups:
    """The share groups of one shard, and the sessions of their members.

    Args:
        topics: The current topics of the cluster.
        config_of: Returns the effective configuration of a group id.
        max_size: Maximum number of members in a group (`group.share.max.size`).
        profile: The release that it acts as.
        new_token: Returns a number for a request that is parked. No two requests of a shard have the same.
    """

    def __init__(
        self,
        topics: TopicsImage,
        config_of: Callable[[str], ShareGroupConfig],
        max_size: int,
        profile: Profile = DEFAULT_PROFILE,
        new_token: Callable[[], int] | None = None,
    ) -> None:
        self._topics = topics
        self._config_of = config_of
        self._max_size = max_size
        self._profile = profile
        self._groups: dict[str, ShareGroup] = {}
        self._sessions: Timers[MemberKey] = Timers()
        self._target_computed_ms: dict[str, int] = {}
        self._settled: dict[str, Settled] = {}
        self._new_token = count(1).__next__ if new_token is None else new_token
        self._deletions: Counter[str] = Counter()  # under way, by group

    def __repr__(self) -> str:
        return f"<ShareGroups: {len(self._groups)} groups, {len(self._sessions)} sessions>"

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

    # --------------------------------------------------------------------------------------- hard state

    def replay(self, record: ShareGroupRecord) -> None:
        """Apply a record to the state. The order of records with different keys does not matter."""
        group = self._groups.setdefault(record.group_id, ShareGroup(record.group_id))
        group.replay(record)
        if group == ShareGroup(record.group_id):
            del self._groups[record.group_id]
            self._target_computed_ms.pop(record.group_id, None)
            self._settled.pop(record.group_id, None)

    def loaded(self, now_ms: int) -> Iterator[Result[None, ShareGroupRecord]]:
        """Start a new session for every member, and return what of share states is outstanding."""
        group_ids = iter(tuple(self._groups))
        while some := tuple(islice(group_ids, _GROUPS_AT_ONCE)):
            groups = [self._groups[group_id] for group_id in some]
            for group in groups:
                for member_id in group.members:
                    self._extend_session(group.group_id, member_id, now_ms)
            effects = [effect for group in groups for effect in self._outstanding(group)]
            yield Result(None, self._without_deleted_topics(groups), tuple(effects))

    # --------------------------------------------------------------------------------------- operations

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: MemberClient, now_ms: int
    ) -> Result[ShareGroupHeartbeatResponse, ShareGroupRecord]:
        """Handle a valid heartbeat: a member joins, stays or leaves.

        Raises:
            GroupIdNotFoundError: The group does not exist, and the member is not joining.
            UnknownMemberIdError: The group does not have the member, and the member is not joining.
            FencedMemberEpochError: The epoch is neither the member's current epoch nor its previous one.
            GroupMaxSizeReachedError: The group is full.
        """
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

    def expire(self, now_ms: int) -> Result[tuple[MemberKey, ...], ShareGroupRecord]:
        """Remove the members whose session timed out. The response contains them."""
        expired: list[MemberKey] = []
        drafts: dict[str, Draft] = {}
        while (key := self._sessions.take_due(now_ms)) is not None:
            expired.append(key)
            group = self._groups.get(key.group_id)
            if group is not None and key.member_id in group.members:
                draft = drafts.setdefault(key.group_id, Draft(group))
                self._remove(draft, key.member_id)
        return Result(tuple(expired), tuple(record for draft in drafts.values() for record in draft.records))

    def delete_group(self, group_id: str) -> Result[None, ShareGroupRecord]:
        """Delete a group. If it has share state, that is deleted first.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        draft = self._current(group_id)
        deleting = operations.delete_group(draft)
        if not deleting:
            return Result(None, tuple(draft.records))
        token = self._new_token()
        effect = self._deletion(draft, deleting, deletes_group=True, token=token)
        return Result(None, tuple(draft.records), (effect,), token)

    def alter_start_offsets(
        self, group_id: str, start_offsets: Mapping[tuple[UUID, int], int], names: Mapping[UUID, str]
    ) -> Result[None, ShareGroupRecord]:
        """Begin the states of share-partitions afresh, with these start offsets. A group that does not exist is made.

        Args:
            group_id: The group.
            start_offsets: Start offset by topic id and partition, which all exist.
            names: The names of the topics.

        Raises:
            NonEmptyGroupError: The group has members.
        """
        known = self._groups.get(group_id)
        draft = Draft(known or self._new_group(group_id))
        operations.begin_restart(draft, _by_topic(start_offsets), names, is_new=known is None)
        token = self._new_token()
        effect = InitializeShareState(group_id, draft.group.epoch, start_offsets, restarts=True, token=token)
        return Result(None, tuple(draft.records), (effect,), token)

    def delete_start_offsets(
        self, group_id: str, topic_ids: Collection[UUID]
    ) -> Result[frozenset[UUID], ShareGroupRecord]:
        """Delete the states of all share-partitions of topics. Returns the topics that had some.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        draft = self._current(group_id)
        deleting = operations.forget_topics(draft, topic_ids)
        if not deleting:
            return Result(frozenset(), tuple(draft.records))
        token = self._new_token()
        return Result(deleting, tuple(draft.records), (self._deletion(draft, deleting, token=token),), token)

    def metadata_changed(self) -> Result[None, ShareGroupRecord]:
        """Forget the state of topics that no longer exist, group by group in the order in which they were created.

        New topics and new partitions are noticed with a member's next heartbeat, as in Kafka.
        """
        return Result(None, self._without_deleted_topics(self._groups.values()))

    def share_state_settled(
        self, effect: ShareStateEffect, error: BrokerError | None
    ) -> Result[None, ShareGroupRecord]:
        """Take note of how an effect ended, and answer the request that waits for it."""
        draft = Draft(self._groups.get(effect.group_id) or ShareGroup(effect.group_id))
        if isinstance(effect, InitializeShareState):
            effects = self._initialized(draft, effect, error)
        else:
            effects = self._deleted(draft, effect, error)
        return Result(None, tuple(draft.records), effects)

    # ------------------------------------------------------------------------------------------ insides

    def _stay(
        self, group: ShareGroup, request: ShareGroupHeartbeatRequest, client: MemberClient, now_ms: int
    ) -> Result[ShareGroupHeartbeatResponse, ShareGroupRecord]:
        config = self._config_of(group.group_id)
        draft = Draft(group)
        may_compute = self._may_compute_target(group, config, now_ms)
        settled = self._settled.setdefault(group.group_id, Settled(self._topics))
        result = operations.heartbeat(draft, request, client, self._topics, settled, may_compute_target=may_compute)
        if result.computed_target:
            self._target_computed_ms[group.group_id] = now_ms
        self._sessions.set(MemberKey(group.group_id, request.member_id), now_ms + config.session_timeout_ms)
        effects = (*self._initializations(draft, result.initializing), *self._unfinished_deletion(draft))
        return Result(heartbeat_response(request, result, config), tuple(draft.records), effects)

    def _new_group(self, group_id: str) -> ShareGroup:
        # The first member increases the epoch by one.
        before = ShareGroupMetadataValue(epoch=self._profile.first_share_group_epoch - 1, metadata_hash=0)
        return ShareGroup(group_id, before)

    def _remove(self, draft: Draft, member_id: str) -> None:
        operations.remove(draft, member_id, self._topics, settles_empty=self._profile.settles_empty_share_groups)
        if draft.group.group_id in self._settled:
            self._settled[draft.group.group_id].forget_member(member_id)

    def _leave(self, group: ShareGroup, member_id: str) -> Result[ShareGroupHeartbeatResponse, ShareGroupRecord]:
        draft = Draft(group)
        self._remove(draft, member_id)
        self._sessions.cancel(MemberKey(group.group_id, member_id))
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
        self._sessions.set(MemberKey(group_id, member_id), deadline_ms)

    # ------------------------------------------------------------------------------------------ share state

    def _without_deleted_topics(self, groups: Iterable[ShareGroup]) -> tuple[ShareGroupRecord, ...]:
        drafts = [Draft(group) for group in groups if self._has_deleted_topics(group)]
        for draft in drafts:
            state_partitions.drop_deleted_topics(draft, self._topics)
        return tuple(record for draft in drafts for record in draft.records)

    def _has_deleted_topics(self, group: ShareGroup) -> bool:
        return any(self._topics.topic_by_id(topic_id) is None for topic_id in group.state_partitions.topic_names)

    def _outstanding(self, group: ShareGroup) -> tuple[Effect, ...]:
        """Return what of a group's share state is not settled, apart from topics that no longer exist."""
        draft, known = Draft(group), group.state_partitions
        existing = {id_: numbers for id_, numbers in known.initializing.items() if self._topics.topic_by_id(id_)}
        return (*self._initializations(draft, existing), *self._unfinished_deletion(draft))

    def _initializations(self, draft: Draft, partitions: PartitionsOfTopics) -> tuple[Effect, ...]:
        if not partitions:
            return ()
        group = draft.group
        offsets = state_partitions.first_offsets(group.state_partitions, partitions)
        return (InitializeShareState(group.group_id, group.epoch, offsets),)

    def _unfinished_deletion(self, draft: Draft) -> tuple[Effect, ...]:
        """Return the deletion of states that was begun, unless it is under way."""
        topic_ids = draft.group.state_partitions.deleting.keys()
        if not topic_ids or self._deletions[draft.group.group_id]:
            return ()
        return (self._deletion(draft, topic_ids),)

    def _deletion(
        self, draft: Draft, topic_ids: Collection[UUID], *, deletes_group: bool = False, token: int | None = None
    ) -> DeleteShareState:
        """Return the deletion of states. The log does not tell which partitions have some: then all are meant."""
        group_id, known = draft.group.group_id, draft.group.state_partitions.deleting
        topics = [(topic_id, self._topics.topic_by_id(topic_id)) for topic_id in topic_ids]
        partitions = {id_: known[id_] or frozenset(range(topic.num_partitions)) for id_, topic in topics if topic}
        self._deletions[group_id] += 1
        return DeleteShareState(group_id, partitions, deletes_group=deletes_group, token=token)

    def _current(self, group_id: str) -> Draft:
        """Return a draft of a group without topics that no longer exist."""
        draft = Draft(self.group(group_id))
        state_partitions.drop_deleted_topics(draft, self._topics)
        return draft

    def _initialized(self, draft: Draft, effect: InitializeShareState, error: BrokerError | None) -> tuple[Effect, ...]:
        partitions = _by_topic(effect.start_offsets)
        if error is None:
            state_partitions.finish_initialization(draft, partitions)
        else:
            state_partitions.give_up_initialization(draft, partitions)
        return _answer(effect.token, error)

    def _deleted(self, draft: Draft, effect: DeleteShareState, error: BrokerError | None) -> tuple[Effect, ...]:
        self._deletions[effect.group_id] -= 1
        self._deletions += Counter()  # without zeros
        if error is not None:
            return _answer(effect.token, error)  # the next heartbeat or request tries again
        state_partitions.finish_deletion(draft, effect.partitions)
        if not effect.deletes_group:
            return _answer(effect.token, frozenset(effect.partitions))
        state_partitions.drop_deleted_topics(draft, self._topics)
        try:
            deleting = operations.delete_group(draft)
        except BrokerError as joined_meanwhile:
            return _answer(effect.token, joined_meanwhile)
        if not deleting:
            return _answer(effect.token, None)
        return (self._deletion(draft, deleting, deletes_group=True, token=effect.token),)


def _by_topic(partitions: Collection[tuple[UUID, int]]) -> dict[UUID, frozenset[int]]:
    numbers: dict[UUID, set[int]] = {}
    for topic_id, partition in partitions:
        numbers.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(of_topic) for topic_id, of_topic in numbers.items()}


def _answer(token: int | None, outcome: object) -> tuple[Effect, ...]:
    return () if token is None else (Reply(token, outcome),)
