"""The share groups of one shard of the group coordinator, and the operations on them.

An operation is `(state, request, now_ms) → Result(response, records, effects)`. It checks first and then creates
records. Only `replay` changes the groups themselves. An operation may directly change only soft state, which is lost
when the coordinator moves: session deadlines, and the time at which a target assignment was last computed. The handler
of heartbeats has checked what does not depend on the group (`members.validate`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from uuid import UUID

from kafka_groups.broker.coordinators.groups.epochs.group_deadlines import Deadline, DeadlineKind
from kafka_groups.broker.coordinators.groups.epochs.groups import EpochGroups
from kafka_groups.broker.coordinators.groups.epochs.members import check_room
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.share import operations, state_partitions
from kafka_groups.broker.coordinators.groups.share.effects import (
    DeleteShareState,
    InitializeShareState,
    ShareStateEffect,
)
from kafka_groups.broker.coordinators.groups.share.group import Draft, ShareGroup
from kafka_groups.broker.coordinators.groups.share.members import check_member_epoch, group_of_member
from kafka_groups.broker.coordinators.groups.share.records import PartitionsOfTopics, ShareGroupRecord
from kafka_groups.broker.coordinators.groups.share.responses import heartbeat_response, leave_response
from kafka_groups.broker.coordinators.groups.share.unchanged_inputs import UnchangedInputs
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Effect, Reply, Result
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupMetadataValue
from kafka_groups.protocol.messages.share_group_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["ShareGroups"]


class ShareGroups(EpochGroups[ShareGroup, ShareGroupRecord]):
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
        super().__init__()
        self._topics = topics
        self._config_of = config_of
        self._max_size = max_size
        self._profile = profile
        self._target_computed_ms: dict[str, int] = {}
        self._unchanged_inputs: dict[str, UnchangedInputs] = {}
        self._new_token = count(1).__next__ if new_token is None else new_token
        self._deletions: Counter[str] = Counter()  # under way, by group

    # --------------------------------------------------------------------------------------- hard state

    def _new_group(self, group_id: str) -> ShareGroup:
        return ShareGroup(group_id)

    def _forget(self, group_id: str) -> None:
        self._target_computed_ms.pop(group_id, None)
        self._unchanged_inputs.pop(group_id, None)

    def _start_all(self, groups: Sequence[ShareGroup], now_ms: int) -> Result[None, ShareGroupRecord]:
        """Start a new session for every member, and return what of share states is outstanding."""
        super()._start_all(groups, now_ms)
        effects = [effect for group in groups for effect in self._outstanding(group)]
        return Result(None, self._without_deleted_topics(groups), tuple(effects))

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
        # KIP-932, "Share group membership": the first member creates the group, and only a member of an existing group
        # stays or leaves (GroupMetadataManager.shareGroupHeartbeat and shareGroupLeave in Kafka).
        group = self._groups.get(request.group_id)
        if request.member_epoch == JOIN_EPOCH:
            joined = group or self._before_first_member(request.group_id)
            # A member that joins again while it is in the group does not need another place (throwIfShareGroupIsFull).
            # Epoch 0 needs no further check: Kafka's throwIfShareGroupMemberEpochIsInvalid accepts it from every
            # member.
            check_room(joined, request.member_id, self._max_size, "share")
            return self._stay(joined, request, client, now_ms)
        group = group_of_member(group, request.group_id, request.member_id)
        # -1 is not an epoch of the group and is not compared with one. KIP-932 has no static membership, so a member
        # that leaves is always removed.
        if request.member_epoch == LEAVE_EPOCH:
            return self._leave(group, request.member_id)
        check_member_epoch(group, request.member_id, request.member_epoch)
        return self._stay(group, request, client, now_ms)

    def expire(self, now_ms: int) -> Result[tuple[Deadline, ...], ShareGroupRecord]:
        """Remove the members whose session timed out. The response contains them."""
        expired: list[Deadline] = []
        drafts: dict[str, Draft] = {}
        while (key := self._timers.take_due(now_ms)) is not None:
            expired.append(key)
            group = self._groups.get(key.group_id)
            # KIP-932, "Heartbeat and session": the member is removed, but it is not fenced. It may still fetch and
            # acknowledge what it has acquired, and joins again after its next heartbeat fails.
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
        # KIP-932, "Using the share coordinator from the group coordinator", deletes the share states with the group.
        # They go first: a group without its record could not tell which states are left
        # (GroupCoordinatorService.performShareGroupsDeletion).
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
        # Kafka's alterShareGroupOffsets creates the group as well, so that start offsets can be set before its first
        # member joins.
        draft = Draft(known or self._before_first_member(group_id))
        operations.begin_restart(draft, _by_topic(start_offsets), names, is_new=known is None)
        token = self._new_token()
        # The state epoch is the group epoch. KIP-932, "Group epoch - Trigger a rebalance", increases it here; Kafka up
        # to 4.4 does not. The request is parked until the share coordinator has answered
        # (GroupCoordinatorService.persisterInitialize).
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
        # No state exists for these topics, so there is nothing to wait for.
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
        unchanged = self._unchanged_inputs.setdefault(group.group_id, UnchangedInputs(self._topics))
        result = operations.heartbeat(draft, request, client, self._topics, unchanged, may_compute_target=may_compute)
        if result.computed_target:
            self._target_computed_ms[group.group_id] = now_ms
        # Not by `extend_session`, which would look up the configuration a second time for each heartbeat.
        session = Deadline(group.group_id, request.member_id, DeadlineKind.SESSION)
        self._timers.set(session, now_ms + config.session_timeout_ms)
        # An unfinished deletion is tried again with each heartbeat, because the topic cannot be initialised before it
        # is done.
        effects = (*self._initializations(draft, result.initializing), *self._unfinished_deletion(draft))
        return Result(heartbeat_response(request, result, config), tuple(draft.records), effects)

    def _before_first_member(self, group_id: str) -> ShareGroup:
        # The first member increases the epoch by one.
        before = ShareGroupMetadataValue(epoch=self._profile.first_share_group_epoch - 1, metadata_hash=0)
        return ShareGroup(group_id, before)

    def _remove(self, draft: Draft, member_id: str) -> None:
        operations.remove(draft, member_id, self._topics, settles_empty=self._profile.settles_empty_share_groups)
        if draft.group.group_id in self._unchanged_inputs:
            self._unchanged_inputs[draft.group.group_id].forget_member(member_id)

    def _leave(self, group: ShareGroup, member_id: str) -> Result[ShareGroupHeartbeatResponse, ShareGroupRecord]:
        draft = Draft(group)
        self._remove(draft, member_id)
        self.stop_waiting(group.group_id, member_id)
        return Result(leave_response(member_id), tuple(draft.records))

    def _may_compute_target(self, group: ShareGroup, config: ShareGroupConfig, now_ms: int) -> bool:
        """Return whether the assignment interval of the group has passed. The first assignment never waits."""
        computed_ms = self._target_computed_ms.get(group.group_id)
        is_settled = self._profile.settles_empty_share_groups and not group.members
        # The time of the last assignment is soft state here, so a new coordinator does not wait. The interval also does
        # not apply to the first member of a group whose last target assignment was the empty one of
        # `settle_empty_group`.
        if computed_ms is None or is_settled:
            return True
        return now_ms >= computed_ms + config.assignment_interval_ms

    def _session_timeout_ms(self, group: ShareGroup, member_id: str) -> int:
        return self._config_of(group.group_id).session_timeout_ms

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
        # The former coordinator may have failed between the two records of an initialisation. KIP-932, "Using the share
        # coordinator from the group coordinator", lets the step be repeated. In Kafka that begins the state afresh;
        # here a state that exists stays (`InitializeShareState.restarts`).
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
        # A second deletion could arrive after the states were initialised again, so only one runs at a time.
        if not topic_ids or self._deletions[draft.group.group_id]:
            return ()
        return (self._deletion(draft, topic_ids),)

    def _deletion(
        self, draft: Draft, topic_ids: Collection[UUID], *, deletes_group: bool = False, token: int | None = None
    ) -> DeleteShareState:
        """Return the deletion of states. The log does not tell which partitions have some: then all are meant."""
        group_id, known = draft.group.group_id, draft.group.state_partitions.deleting
        topics = [(topic_id, self._topics.topic_by_id(topic_id)) for topic_id in topic_ids]
        # The record has topics only, without partitions (ShareGroupStatePartitionMetadataValue, DeletingTopics). After
        # a failover every partition of the topic is deleted; deleting a state that does not exist succeeds.
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
        # Kafka's handlePersisterInitializeResponse has the same two cases: all states exist, or none count.
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
        # The group was empty when its deletion began, but members may have joined while the states were being deleted.
        # Then it stays, and the heartbeats of its members initialise the states again.
        except BrokerError as joined_meanwhile:
            return _answer(effect.token, joined_meanwhile)
        # Topics may have got states in the meantime, by AlterShareGroupOffsets. They are deleted in another round.
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
