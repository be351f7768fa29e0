"""The consumer groups of one shard of the group coordinator, and the operations on them (KIP-848).

An operation is `(state, request, now_ms) → Result(response, records)`. It checks first and then creates records. Only
`replay` changes the groups themselves. An operation may directly change only soft state, which is lost when the
coordinator moves: deadlines. The handler of heartbeats has checked what does not depend on the group (`requests.py`).
"""

from collections.abc import Collection, Sequence
from functools import partial
from uuid import UUID

from kafka_groups.broker.coordinators.groups.consumer.classic_conversion import (
    BecomesClassic,
    as_classic,
    delete_all,
    may_become_classic,
)
from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup, regex_of
from kafka_groups.broker.coordinators.groups.consumer.leaving import leave
from kafka_groups.broker.coordinators.groups.consumer.members import (
    forget_unused_regex,
    owns_at_most,
    remove_member,
    update_member,
)
from kafka_groups.broker.coordinators.groups.consumer.offsets import check_commit, check_fetch
from kafka_groups.broker.coordinators.groups.consumer.reconciliation import Owned, has_other_partitions, reconcile
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerAssignment, ConsumerGroupRecord
from kafka_groups.broker.coordinators.groups.consumer.regexes import (
    TopicSearch,
    check_regex,
    is_resolution_due,
    write_found,
)
from kafka_groups.broker.coordinators.groups.consumer.requests import is_full
from kafka_groups.broker.coordinators.groups.consumer.responses import described_group, leave_response, stay_response
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerRules, ConsumerSources
from kafka_groups.broker.coordinators.groups.consumer.subscriptions import bump_group_epoch, has_other_subscription
from kafka_groups.broker.coordinators.groups.consumer.target import (
    assignor_for,
    has_other_assignor,
    preferred_assignor,
    update_target,
)
from kafka_groups.broker.coordinators.groups.epochs.group_deadlines import Deadline, DeadlineKind
from kafka_groups.broker.coordinators.groups.epochs.groups import RebalancingGroups
from kafka_groups.broker.coordinators.groups.epochs.members import enter, known_member, leave_for_a_while
from kafka_groups.broker.coordinators.groups.epochs.target import settle_empty_group
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadata,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponseGroup
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_groups.types import member_id_of

__all__ = ["ConsumerGroups"]

_REBALANCE, _REGEX, _CLASSIC = DeadlineKind.REBALANCE, DeadlineKind.REGEX, DeadlineKind.CLASSIC
_SEARCH_US = 5_000
"""The longest time that one call searches for topics of regular expressions."""


class ConsumerGroups(RebalancingGroups[ConsumerGroup, ConsumerGroupRecord]):
    """The consumer groups of one shard, and the deadlines of their members.

    Args:
        topics: The current topics of the cluster.
        rules: The settings.
        sources: The sources of ids and time.
    """

    def __init__(self, topics: TopicsImage, rules: ConsumerRules, sources: ConsumerSources) -> None:
        super().__init__()
        self._topics = topics
        self._rules = rules
        self._sources = sources
        self._searches: dict[str, TopicSearch] = {}
        self._searchers: dict[str, MemberClient] = {}
        self._hashed: dict[str, tuple[int, ConsumerGroupMetadataValue]] = {}

    # ---------------------------------------------------------------------------------------- hard state

    def _new_group(self, group_id: str) -> ConsumerGroup:
        return ConsumerGroup(group_id)

    def _forget(self, group_id: str) -> None:
        self._hashed.pop(group_id, None)
        self._searchers.pop(group_id, None)

    # ----------------------------------------------------------------------------------------- heartbeats

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: MemberClient,
        version: int,
        now_ms: int,
        draft: ConsumerDraft | None = None,
    ) -> Result[ConsumerGroupHeartbeatResponse, ConsumerGroupRecord]:
        """Handle a valid heartbeat: a member joins, stays or leaves. A group that was a classic one comes as a draft.

        Raises:
            GroupIdNotFoundError: The group does not exist, and the member is not joining.
            BrokerError: The group is full, or the member is unknown or fenced.
        """
        # -1 leaves for good, -2 is a static member that leaves for a while. Lower epochs were rejected before.
        if request.member_epoch <= LEAVE_GROUP_EPOCH:
            return self._leave(request)
        group = self._groups.get(request.group_id)
        # Only a member that joins creates the group (GroupMetadataManager.getOrMaybeCreateConsumerGroup).
        if group is None and request.member_epoch != JOIN_GROUP_EPOCH:
            raise GroupIdNotFoundError(f"Consumer group {request.group_id} not found.")
        draft = draft or ConsumerDraft(group or ConsumerGroup(request.group_id))
        # Version 0 of the heartbeat lets the coordinator generate the id. Later versions have the member do so, as
        # validated before.
        member_id = request.member_id or self.new_member_id()
        former_id = enter(draft, member_id, request, partial(owns_at_most, request), self._rules.max_size)
        # A static member that returned has a new id. Deadlines of the old id no longer apply.
        if former_id is not None:
            self.stop_waiting(request.group_id, former_id)
        return self._stay(draft, member_id, request, client, now_ms)

    def _stay(
        self,
        draft: ConsumerDraft,
        member_id: str,
        request: ConsumerGroupHeartbeatRequest,
        client: MemberClient,
        now_ms: int,
    ) -> Result[ConsumerGroupHeartbeatResponse, ConsumerGroupRecord]:
        group, config = draft.group, self._rules.config_of(draft.group.group_id)
        check_regex(group, member_id, request.subscribed_topic_regex)
        before = group.current.get(member_id)
        # The steps follow GroupMetadataManager.consumerGroupHeartbeat in Kafka: description, subscription and group
        # epoch, target assignment, reconciliation.
        described = update_member(draft, member_id, request, client)
        reached = self.advance(draft, member_id, described, request.topic_partitions, now_ms)
        stored = self._groups.get(group.group_id)
        # Topics of regular expressions are searched for after the response (maybeUpdateRegularExpressions schedules a
        # task in Kafka).
        if is_resolution_due(stored, group, self._topics, self._sources.wall_ms()):
            self._timers.set(Deadline(group.group_id, "", _REGEX), now_ms)
            self._searchers[group.group_id] = client
        # There are three cases in which the assignment is sent, as in GroupMetadataManager.consumerGroupHeartbeat: the
        # member joins, it has sent everything (it may have missed the last response), or its partitions have changed.
        is_due = request.member_epoch == JOIN_GROUP_EPOCH or is_full(request) or has_other_partitions(before, reached)
        response = stay_response(member_id, reached, config.heartbeat_interval_ms, has_assignment=is_due)
        return Result(response, tuple(draft.records))

    def advance(
        self,
        draft: ConsumerDraft,
        member_id: str,
        described: ConsumerGroupMemberMetadataValue | None,
        owned: Owned,
        now_ms: int,
    ) -> ConsumerAssignment:
        """Bring a member closer to its target assignment, after its description was stored.

        Args:
            draft: The group.
            member_id: The member.
            described: Its description before that.
            owned: The partitions that it reports as owned.
            now_ms: The time.
        """
        before = draft.group.current.get(member_id)
        has_other_topics = self._follow_subscriptions(draft, member_id, described)
        self._follow_group(draft, draft.group.members[member_id])
        stored = self._groups.get(draft.group.group_id)
        reached = reconcile(draft, member_id, owned, self._topics, stored=stored, has_other_topics=has_other_topics)
        self.extend_session(draft.group, member_id, now_ms)
        # The rebalance timeout starts over only when the assignment changes, as in Kafka's maybeReconcile.
        if reached is not before:
            self._watch_rebalance(draft.group, member_id, now_ms)
        return reached

    def _follow_subscriptions(
        self, draft: ConsumerDraft, member_id: str, described: ConsumerGroupMemberMetadataValue | None
    ) -> bool:
        """Increase the group epoch if that is due, and return whether the member has other topics than before."""
        group = draft.group
        member = group.members[member_id]
        # These changes increase the group epoch whether or not the topics' metadata has changed.
        has_changed = member is not described and has_other_subscription(group, described, member)
        has_changed |= has_other_assignor(group, described, member, self._rules.assignors)
        # Without an epoch, the member is there because not all records of an earlier operation were stored.
        is_unfinished = described is not None and member_id not in group.current
        is_hashed = member is described and self._hashed.get(group.group_id) == self._hash_facts(group)
        # Hashing all subscribed topics is costly for large groups. It is skipped if topics, group record and the
        # member's description are those of the last time; Kafka hashes again only after its metadata has expired
        # (ModernGroup.hasMetadataExpired).
        if has_changed or is_unfinished or not is_hashed:
            bump_group_epoch(draft, self._topics, has_changed=has_changed or is_unfinished)
            self._hashed[group.group_id] = self._hash_facts(group)
        # A new member has no partitions yet that it could have to revoke.
        if described is None or member is described:
            return False
        # A member's former expression is forgotten with its last subscriber
        # (GroupMetadataManager.maybeUpdateRegularExpressions).
        if regex_of(described) != regex_of(member):
            forget_unused_regex(draft, regex_of(described))
            return True
        return described.subscribed_topic_names != member.subscribed_topic_names

    def _follow_group(self, draft: ConsumerDraft, member: ConsumerGroupMemberMetadataValue) -> None:
        """Compute the target assignment if it is older than the group epoch and the assignment interval has passed."""
        group, wall_ms = draft.group, self._sources.wall_ms()
        if not group.needs_target:
            return
        # KIP-1263: within the interval members keep the target assignment, and one of the next heartbeats computes the
        # new one.
        if group.may_have_new_target(self._rules.config_of(group.group_id).assignment_interval_ms, wall_ms):
            assignor = assignor_for(group, member, self._rules.assignors)
            update_target(draft, self._groups.get(group.group_id), self._topics, assignor, wall_ms)

    def _hash_facts(self, group: ConsumerGroup) -> tuple[int, ConsumerGroupMetadataValue]:
        return self._topics.version, group.metadata

    # ------------------------------------------------------------------------------------------- leaving

    def _leave(
        self, request: ConsumerGroupHeartbeatRequest
    ) -> Result[ConsumerGroupHeartbeatResponse, ConsumerGroupRecord]:
        draft = ConsumerDraft(self.group(request.group_id))
        known_member(draft.group, request.member_id, request.instance_id)
        effects: tuple[Effect, ...] = ()
        # There are two cases, as in GroupMetadataManager.consumerGroupLeave. Every member may leave for good with -1; a
        # static member that only restarts sends -2 and keeps its partitions.
        if request.member_epoch == LEAVE_GROUP_EPOCH:
            remove_member(draft, request.member_id)
            effects = self._members_left(draft, [request.member_id])
        else:
            leave_for_a_while(draft, request.member_id)
            # The process has ended, so nothing is left to revoke. The session keeps running: a member that does not
            # return in time is removed (GroupMetadataManager.consumerGroupStaticMemberGroupLeave).
            self._timers.cancel(Deadline(request.group_id, request.member_id, _REBALANCE))
        return Result(leave_response(request.member_id, request.member_epoch), tuple(draft.records), effects)

    def leave(self, request: LeaveGroupRequest, version: int) -> Result[LeaveGroupResponse, ConsumerGroupRecord]:
        """Remove members by LeaveGroup. All of them together increase the group epoch by one.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        stored = self.group(request.group_id)
        draft = ConsumerDraft(stored)
        response, gone = leave(stored, draft, request, version)
        effects = self._members_left(draft, gone) if gone else ()
        return Result(response, tuple(draft.records), effects)

    def _members_left(self, draft: ConsumerDraft, gone: Collection[str]) -> tuple[Effect, ...]:
        """Follow the departure of members. If only classic ones are left, the group may become a classic group."""
        for member_id in gone:
            self.stop_waiting(draft.group.group_id, member_id)
        # Kafka makes the same check whenever members leave or are fenced (validateOnlineDowngradeWithFencedMembers):
        # the group returns to the classic protocol as soon as nobody uses the new one.
        if may_become_classic(draft.group, self._rules):
            return (self.downgrade(draft),)
        bump_group_epoch(draft, self._topics, has_changed=True)
        settle_empty_group(draft)
        return ()

    def downgrade(self, draft: ConsumerDraft, *, rebalances: bool = True) -> BecomesClassic:
        """Delete a group that becomes a classic one, and return what that starts with."""
        generation = as_classic(draft.group, self._topics, self._sources.wall_ms())
        # The classic group has deadlines of its own, which begin with its first generation.
        for member in generation.members:
            self.stop_waiting(draft.group.group_id, member.member_id)
        delete_all(draft)
        return BecomesClassic(draft.group.group_id, generation, rebalances)

    # ----------------------------------------------------------------------------------------- deadlines

    def expire(self, now_ms: int) -> Result[None, ConsumerGroupRecord]:
        """Remove members that have been silent for too long, or have not revoked in time, and find topics."""
        drafts: dict[str, ConsumerDraft] = {}
        effects: list[Effect] = []
        left_us = _SEARCH_US
        while (key := self._timers.take_due(now_ms)) is not None:
            group = self._groups.get(key.group_id)
            # Without members, nobody subscribes to the expressions, so a search that has begun is dropped.
            if group is None or not group.members:
                self._searches.pop(key.group_id, None)
            if group is None:
                continue  # a group without a member left, whose topics were yet to be found
            draft = drafts.setdefault(key.group_id, ConsumerDraft(group))
            if not draft.group.members:
                continue  # it is empty or a classic group by now
            # Apart from the search for topics, all deadlines here are those of a member that has missed its session,
            # its rebalance timeout, or JoinGroup or SyncGroup. In each case it is removed, and its partitions become
            # free.
            if key.kind is _REGEX:
                left_us = self._find_topics(draft, left_us, now_ms)
            else:
                remove_member(draft, key.member_id)
                effects += self._members_left(draft, [key.member_id])
        return Result(None, tuple(record for draft in drafts.values() for record in draft.records), tuple(effects))

    def _find_topics(self, draft: ConsumerDraft, left_us: int, now_ms: int) -> int:
        """Find topics of a group's regular expressions within a budget of time, and return the rest of the budget."""
        group = draft.group
        search = self._searches.pop(group.group_id, None) or self._new_search(group)
        # The group with the expressions was deleted, and this one has none.
        if search is None:
            return left_us
        left_us = search.go_on(left_us)
        # Until the search has ended, members keep the topics found before. Kafka resolves all expressions at once in a
        # background thread; here, turns of limited length keep the event loop free.
        if search.is_over:
            write_found(draft, search, self._topics, self._sources.wall_ms())
        else:
            self._searches[group.group_id] = search
            self._timers.set(Deadline(group.group_id, "", _REGEX), now_ms + 1)
        return left_us

    def _new_search(self, group: ConsumerGroup) -> TopicSearch | None:
        # As in Kafka, the rights of the member whose heartbeat made the search due count for all members.
        client = self._searchers.pop(group.group_id, None)
        return None if client is None else TopicSearch(group.regex_subscribers, self._topics, client.may_describe)

    def _session_timeout_ms(self, group: ConsumerGroup, member_id: str) -> int:
        # A classic member sends its session timeout in JoinGroup. For all others the configuration of the group
        # decides.
        classic = group.members[member_id].classic_member_metadata
        return (classic or self._rules.config_of(group.group_id)).session_timeout_ms

    def expect_classic(self, group: ConsumerGroup, member_id: str, now_ms: int) -> None:
        """Expect JoinGroup or SyncGroup of a member within its rebalance timeout, unless it is expected already."""
        deadline = Deadline(group.group_id, member_id, _CLASSIC)
        # A member that sends heartbeats but does not join must not prolong its deadline
        # (CoordinatorTimer.scheduleIfAbsent in Kafka's scheduleConsumerGroupJoinTimeoutIfAbsent).
        if deadline not in self._timers:
            self._expect_within_rebalance(deadline, group, now_ms)

    def expect_nothing_more(self, group: ConsumerGroup, member_id: str, now_ms: int) -> None:
        """Expect only heartbeats of a member that has got its partitions by SyncGroup."""
        self._timers.cancel(Deadline(group.group_id, member_id, _CLASSIC))
        self.extend_session(group, member_id, now_ms)

    def new_member_id(self) -> str:
        """Return a new member id."""
        return member_id_of(self._sources.new_id())

    # ------------------------------------------------------------------------------------------- offsets

    def check_commit(
        self, group_id: str, member_id: str, epoch: int, version: int, partitions: Sequence[tuple[UUID, int]]
    ) -> None:
        """Check whether offsets may be committed.

        Raises:
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        check_commit(self.group(group_id), member_id, epoch, version, partitions)

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Check whether offsets may be fetched.

        Raises:
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        check_fetch(self.group(group_id), member_id, epoch)

    def is_subscribed(self, group_id: str, topic: str) -> bool:
        """Return whether members subscribe to a topic, by its name or a regular expression."""
        return topic in self.group(group_id).subscribed_topics()

    # ------------------------------------------------------------------------------------ administration

    def describe(self, group_id: str) -> ConsumerGroupDescribeResponseGroup:
        """Return a group as ConsumerGroupDescribe shows it.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        group = self.group(group_id)
        return described_group(group, preferred_assignor(group, self._rules.assignors), self._topics)

    def delete(self, group_id: str) -> tuple[ConsumerGroupRecord, ...]:
        """Return the records that delete a group. Those of its offsets are not among them.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        # The order is that of ConsumerGroup.createGroupTombstoneRecords; records about members do not exist in an empty
        # group.
        self.check_empty(group_id)
        return (
            ConsumerGroupTargetAssignmentMetadata(group_id, None),
            ConsumerGroupPartitionMetadata(group_id),
            ConsumerGroupMetadata(group_id, None),
        )
