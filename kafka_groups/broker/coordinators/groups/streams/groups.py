"""The streams groups of one shard of the group coordinator, and the operations on them (KIP-1071).

An operation is `(state, request, now_ms) → Result(response, records, effects)`. It checks first and then creates
records. Only `replay` changes the groups themselves. An operation may directly change only soft state, which is lost
when the coordinator moves: deadlines, and what `soft_state.py` lists. The handler of heartbeats has checked what does
not depend on the group (`requests.py`).
"""

import logging
from collections import defaultdict
from collections.abc import Sequence

from attrs import evolve

from kafka_groups.assignment import AssignmentConfigs, AssignmentError, Registered
from kafka_groups.assignment.application.assignor_run import Computed
from kafka_groups.assignment.application.reports import has_reports
from kafka_groups.assignment.application.topology_tasks import with_stores
from kafka_groups.broker.coordinators.groups.epochs.group_deadlines import Deadline, DeadlineKind
from kafka_groups.broker.coordinators.groups.epochs.groups import RebalancingGroups
from kafka_groups.broker.coordinators.groups.epochs.members import known_member, leave_for_a_while, remove
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.assigning.application_target import target_of
from kafka_groups.broker.coordinators.groups.streams.assigning.follow_ups import follow_up_ms
from kafka_groups.broker.coordinators.groups.streams.assigning.target import (
    TargetContext,
    assign_if_due,
    assignor_for,
    follow_departure,
    increase_epoch,
    write_target,
)
from kafka_groups.broker.coordinators.groups.streams.computation import is_wanted, note_failure
from kafka_groups.broker.coordinators.groups.streams.descriptions import TopologyDescriptions, checked_description
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment, CreateInternalTopics
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.member_heartbeat import AnsweredHeartbeat, StreamsHeartbeat
from kafka_groups.broker.coordinators.groups.streams.offsets import check_commit, check_fetch
from kafka_groups.broker.coordinators.groups.streams.records import IS_STORING, StreamsGroupRecord
from kafka_groups.broker.coordinators.groups.streams.responses import described_group, leave_response
from kafka_groups.broker.coordinators.groups.streams.settings import StreamsRules
from kafka_groups.broker.coordinators.groups.streams.soft_state import StreamsSoftState
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import (
    GroupIdNotFoundError,
    InvalidRequestError,
    UnknownMemberIdError,
    UnknownServerError,
)
from kafka_groups.protocol.coordinator_records.streams_group import (
    StreamsGroupMemberMetadata,
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMetadata,
    StreamsGroupTopology,
)
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeResponseGroup
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.types import TopicPartition

__all__ = ["StreamsGroups"]

_log = logging.getLogger(__name__)

_REBALANCE, _DELAY, _FOLLOW_UP = DeadlineKind.REBALANCE, DeadlineKind.INITIAL_DELAY, DeadlineKind.FOLLOW_UP


class StreamsGroups(RebalancingGroups[StreamsGroup, StreamsGroupRecord]):
    """The streams groups of one shard, the deadlines of their members, and their soft state.

    Args:
        topics: The current topics of the cluster.
        rules: The settings.
    """

    def __init__(self, topics: TopicsImage, rules: StreamsRules) -> None:
        super().__init__()
        self._topics = topics
        self._rules = rules
        self._soft: defaultdict[str, StreamsSoftState] = defaultdict(StreamsSoftState)
        self._descriptions = TopologyDescriptions()

    # ---------------------------------------------------------------------------------------- hard state

    def replay(self, record: StreamsGroupRecord) -> None:
        """Apply a record to the state. The order of records with different keys does not matter."""
        super().replay(record)
        soft = self._soft.get(record.group_id)
        if (
            soft is not None
            and isinstance(record, StreamsGroupMemberMetadata)
            and not self.group(record.group_id).members
        ):
            # As in Kafka, also if the only member is replaced, because its former id goes first.
            soft.shutdown_member = None

    def _new_group(self, group_id: str) -> StreamsGroup:
        return StreamsGroup(group_id)

    def _forget(self, group_id: str) -> None:
        self._soft.pop(group_id, None)
        self._descriptions.forget(group_id)
        self._timers.cancel(Deadline(group_id, "", _FOLLOW_UP))

    # ----------------------------------------------------------------------------------------- heartbeats

    def heartbeat(
        self, request: StreamsGroupHeartbeatRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[StreamsGroupHeartbeatResponse, StreamsGroupRecord]:
        """Handle a valid heartbeat: a member joins, stays or leaves.

        Raises:
            InvalidRequestError: The topology is not the group's, or a task does not exist.
            StreamsInvalidTopologyError: The numbers of partitions cannot be derived.
            GroupIdNotFoundError: The group does not exist, and the member is not joining.
            UnknownServerError: The task assignor failed.
            BrokerError: The group is full, or the member is unknown or fenced.
        """
        # -1 leaves for good, -2 is a static member that leaves for a while. Lower epochs were rejected before.
        if request.member_epoch <= LEAVE_GROUP_EPOCH:
            return self._leave(request)
        stored = self._groups.get(request.group_id)
        # Only a member that joins creates the group. KIP-1071, "Request Handling", returns GROUP_ID_NOT_FOUND to all
        # others, and a group of another type is not among the streams groups either.
        if stored is None and request.member_epoch != JOIN_GROUP_EPOCH:
            raise GroupIdNotFoundError(f"Streams group {request.group_id} not found.")
        # As in Kafka, the soft state of the heartbeat that makes a group is lost.
        soft = StreamsSoftState() if stored is None else self._soft[request.group_id]
        config, delay = self._rules.config_of(request.group_id), Deadline(request.group_id, "", _DELAY)
        # The delay begins with the first member of a group without members, so it also follows when all members have
        # left and the application starts again (GroupMetadataManager.streamsGroupHeartbeat).
        begins_delay = (stored is None or not stored.members) and config.initial_rebalance_delay_ms > 0
        beat = StreamsHeartbeat(
            request,
            client,
            version,
            stored,
            soft,
            config,
            is_delayed=begins_delay or delay in self._timers,
            is_waiting=Deadline(request.group_id, "", _FOLLOW_UP) in self._timers,
            topics=self._topics,
            rules=self._rules,
            now_ms=now_ms,
        )
        answered = beat.answered()
        # The timer is set after the heartbeat has succeeded, and only once, like CoordinatorTimer.scheduleIfAbsent in
        # Kafka: further members do not prolong the delay, in contrast to that of classic groups.
        if begins_delay and delay not in self._timers:
            self._timers.set(delay, now_ms + config.initial_rebalance_delay_ms)
        self._follow_deadlines(answered, request.member_id, now_ms)
        response = answered.response
        if self._rules.keeps_descriptions:
            response = self._descriptions.ask_if_missing(response, answered.draft.group, version, now_ms)
        return Result(response, tuple(answered.draft.records), self._effects(answered, config))

    def _follow_deadlines(self, answered: AnsweredHeartbeat, member_id: str, now_ms: int) -> None:
        group = answered.draft.group
        # A static member that returned has a new id. Deadlines of the old id no longer apply.
        if answered.former_id is not None:
            self.stop_waiting(group.group_id, answered.former_id)
        self.extend_session(group, member_id, now_ms)
        # As in Kafka's maybeReconcile, the rebalance timeout starts over only when the member's assignment changes. A
        # member that only keeps sending heartbeats cannot prolong it.
        if answered.has_other_assignment:
            self._watch_rebalance(group, member_id, now_ms)

    def _effects(self, answered: AnsweredHeartbeat, config: StreamsGroupConfig) -> tuple[Effect, ...]:
        group, to_create = answered.draft.group, answered.configured.to_create
        computations = self._begin(group, answered.computations)
        # KIP-1071, "Handling topic topology mismatches", case 3: each heartbeat that finds internal topics missing
        # attempts to create them. The effect carries the heartbeat interval, because it is the measure of how long a
        # failure is remembered.
        if not to_create:
            return computations
        return (CreateInternalTopics(group.group_id, to_create, config.heartbeat_interval_ms), *computations)

    # --------------------------------------------------------------------- assignments that take their time

    def _begin(self, group: StreamsGroup, computations: tuple[ComputeAssignment, ...]) -> tuple[Effect, ...]:
        """Note that assignments are computed from now on. Return the computations, with the names of stores."""
        if not computations:
            return ()
        soft, stores = self._soft[group.group_id], self._descriptions.stores_of(group)
        for each in computations:
            soft.computation.is_running = True
            if not soft.has_told_of_lags and not has_reports(each.given.members.values()):
                soft.has_told_of_lags = True
                _log.info(
                    "group %s: no member has reported offsets of tasks. The task assignor %s treats all "
                    "members as caught up.",
                    each.group_id,
                    each.assignor.name,
                )
        return tuple(evolve(each, given=with_stores(each.given, stores)) for each in computations)

    def assignment_computed(
        self, effect: ComputeAssignment, result: Computed | Exception, now_ms: int
    ) -> Result[None, StreamsGroupRecord]:
        """Take the result of an assignor of applications, if it is for the group as it is now.

        Args:
            effect: What was to be computed.
            result: The result, or the error.
            now_ms: The time.
        """
        group, soft = self._groups.get(effect.group_id), self._soft.get(effect.group_id)
        # The group may be gone by the time that the assignor returns; nobody is left to tell.
        if group is None or soft is None:
            return Result(None)
        soft.computation.is_running = False
        # The group epoch has increased, or members have come or gone, while the assignor was running. An assignment for
        # a member that is gone must not be stored. The next heartbeat starts another computation, for the new epoch.
        if not is_wanted(group, effect):
            _log.info("group %s: an assignment for epoch %d came too late.", effect.group_id, effect.epoch)
            return Result(None)
        # An assignment that fails the checks of KIP-924, "Assignment Validation", is not installed: members would
        # process tasks twice, or not at all. The assignor runs again later (`note_failure`).
        if isinstance(result, Exception) or result.outcome.error is not AssignmentError.NONE:
            interval_ms = self._rules.config_of(effect.group_id).assignment_interval_ms
            note_failure(soft.computation, effect, result, interval_ms, now_ms)
            return Result(None)
        soft.computation.succeeded()
        draft = StreamsDraft(group)
        wall_ms = self._rules.wall_ms()
        members = result.outcome.group_assignment.members
        write_target(draft, {member_id: target_of(each) for member_id, each in members.items()}, wall_ms)
        self._follow(effect.group_id, follow_up_ms(result.outcome.deadlines.values(), wall_ms, now_ms))
        return Result(None, tuple(draft.records))

    def _follow(self, group_id: str, at_ms: int | None) -> None:
        """Assign tasks again at a time, or not if it is None."""
        deadline = Deadline(group_id, "", _FOLLOW_UP)
        if at_ms is None:
            self._timers.cancel(deadline)
        else:
            self._timers.set(deadline, at_ms)

    def _follow_up(self, draft: StreamsDraft) -> None:
        # If a target assignment is due anyway, the assignor is about to run and need not be asked once more. An
        # assignor by member (KIP-1357) has no follow-ups; the group may have changed its assignor since.
        if draft.group.members and not draft.group.needs_target and self._registered_assignor(draft.group):
            increase_epoch(draft)

    def _registered_assignor(self, group: StreamsGroup) -> Registered | None:
        """Return the assignor of applications that a group uses, or None if its assignor is one by member."""
        assignor = assignor_for(self._rules.config_of(group.group_id), self._rules.assignors)
        return assignor if isinstance(assignor, Registered) else None

    def _start(self, group: StreamsGroup, now_ms: int) -> None:
        """Give every member a new session, and ask an assignor of applications again after its probing interval."""
        super()._start(group, now_ms)
        assignor = self._registered_assignor(group) if group.members else None
        # The time of the follow-up was soft state of the former coordinator, and is lost. The probing interval stands
        # in for it: that is the time after which a classic application asks its assignor again.
        if assignor is not None:
            configs = assignor.assignment_configs(AssignmentConfigs())
            self._follow(group.group_id, now_ms + configs.probing_rebalance_interval_ms)

    # ------------------------------------------------------------------------------------------- leaving

    def _leave(
        self, request: StreamsGroupHeartbeatRequest
    ) -> Result[StreamsGroupHeartbeatResponse, StreamsGroupRecord]:
        draft = StreamsDraft(self.group(request.group_id))
        soft = self._soft[request.group_id]
        # The first member that asks is the one named in the status. Kafka keeps it in
        # StreamsGroup.setShutdownRequestMemberId.
        if request.shutdown_application and soft.shutdown_member is None:
            soft.shutdown_member = request.member_id  # as in Kafka, even if this is not a member any more
        known_member(draft.group, request.member_id, request.instance_id)
        # There are two cases, as in GroupMetadataManager.streamsGroupLeave. Every member may leave for good with -1; a
        # static member that only restarts sends -2 and keeps its tasks.
        if request.member_epoch == LEAVE_GROUP_EPOCH:
            self._remove(draft, request.member_id)
        else:
            leave_for_a_while(draft, request.member_id)
            # The process has ended, so no tasks are left to revoke. The session keeps running: a member that does not
            # return in time is removed (GroupMetadataManager.streamsGroupStaticMemberGroupLeave).
            self._timers.cancel(Deadline(request.group_id, request.member_id, _REBALANCE))
        return Result(leave_response(request.member_id, request.member_epoch), tuple(draft.records))

    def _remove(self, draft: StreamsDraft, member_id: str) -> None:
        group_id = draft.group.group_id
        # Kafka does the same in streamsGroupFenceMember for members that leave, sessions that end and late revocations.
        remove(draft, member_id)
        follow_departure(draft, self._topics)
        self.stop_waiting(group_id, member_id)

    # ----------------------------------------------------------------------------------------- deadlines

    def expire(self, now_ms: int) -> Result[None, StreamsGroupRecord]:
        """Remove members that have been silent for too long, or have not revoked in time; end initial delays."""
        drafts: dict[str, StreamsDraft] = {}
        effects: tuple[Effect, ...] = ()
        while (key := self._timers.take_due(now_ms)) is not None:
            group = self._groups.get(key.group_id)
            if group is None:
                continue  # a group that was deleted during its initial delay
            draft = drafts.setdefault(key.group_id, StreamsDraft(group))
            # There are three kinds of deadlines here: the group's initial delay, a follow-up that the assignor asked
            # for, and those of a member. A member that missed its session or its rebalance timeout is removed, and its
            # tasks go to others.
            if key.kind is _DELAY:
                effects += self._end_initial_delay(draft, now_ms)
            elif key.kind is _FOLLOW_UP:
                self._follow_up(draft)
            # The member may have gone by another deadline of the same call.
            elif key.member_id in draft.group.members:
                self._remove(draft, key.member_id)
        return Result(None, tuple(record for draft in drafts.values() for record in draft.records), effects)

    def _end_initial_delay(self, draft: StreamsDraft, now_ms: int) -> tuple[Effect, ...]:
        """Assign tasks to the members that have joined so far.

        As in Kafka, this is left to the next heartbeat if there was only one, which made the group: what its topology
        becomes is then not known.
        """
        soft, config = self._soft[draft.group.group_id], self._rules.config_of(draft.group.group_id)
        # The same two cases as in GroupMetadataManager.computeDelayedTargetAssignment in Kafka.
        if not draft.group.members or soft.configured is None:
            return ()
        context = TargetContext(
            soft.configured, config, self._rules, soft.reported, self._topics, soft.computation, now_ms
        )
        try:
            step = assign_if_due(draft, context)
        except UnknownServerError as error:  # the next heartbeat tries again
            _log.warning("group %s: %s", draft.group.group_id, error)
            return ()
        return self._begin(draft.group, step.effects)

    def _session_timeout_ms(self, group: StreamsGroup, member_id: str) -> int:
        return self._rules.config_of(group.group_id).session_timeout_ms

    def stop_waiting(self, group_id: str, member_id: str) -> None:
        """Expect nothing of a member any more, and forget what it has reported."""
        super().stop_waiting(group_id, member_id)
        if group_id in self._soft:
            self._soft[group_id].forget(member_id)

    # ------------------------------------------------------------------------------------------- offsets

    def check_commit(
        self, group_id: str, member_id: str, epoch: int, version: int, partitions: Sequence[TopicPartition]
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
        """Return whether the group has members, and its topology reads a topic."""
        group = self.group(group_id)
        # Offsets of topics that members read must not be deleted or expire. A group without members reads nothing
        # (StreamsGroup.isSubscribedToTopic).
        return bool(group.members) and group.topology is not None and topic in group.topology.readers

    # ------------------------------------------------------------------------------------ administration

    def update_description(
        self, request: StreamsGroupTopologyDescriptionUpdateRequest
    ) -> Result[None, StreamsGroupRecord]:
        """Keep the description of a topology that a member sends (KIP-1331).

        As in Kafka, a first record says that the description may be stored or not, and a second one that it is.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            UnknownMemberIdError: The sender is not a member.
            InvalidRequestError: The group has a topology of another epoch, or the description contradicts itself.
        """
        draft = StreamsDraft(self.group(request.group_id))
        group = draft.group
        # The order of the checks is that of GroupMetadataManager.validateStreamsGroupTopologyDescriptionUpdate in
        # Kafka.
        if request.member_id not in group.members:
            raise UnknownMemberIdError(f"Member {request.member_id} is not a member of group {request.group_id}.")
        epoch = -1 if group.topology is None else group.topology.epoch
        # A member of a former topology, or one that answers late, must not replace the description of the current one.
        if request.topology_epoch != epoch:
            raise InvalidRequestError(
                f"The description is of the topology with epoch {request.topology_epoch}, and the group's is {epoch}."
            )
        description = checked_description(request.topology_description)
        known = group.metadata
        is_storing = evolve(known, stored_description_epoch=IS_STORING)
        # Kafka stores the description in a plugin outside of the log, so a coordinator that fails between the two
        # records does not know whether it is there. -2 says so (markStoredDescriptionTopologyEpochUncertain), and
        # members are asked again.
        if known != is_storing:
            draft.write(StreamsGroupMetadata(request.group_id, is_storing))
        draft.write(StreamsGroupMetadata(request.group_id, evolve(known, stored_description_epoch=epoch)))
        self._descriptions.store(request.group_id, epoch, description)
        return Result(None, tuple(draft.records))

    def describe(self, group_id: str, *, with_description: bool = False) -> StreamsGroupDescribeResponseGroup:
        """Return a group as StreamsGroupDescribe shows it, with the description of its topology if that is wanted.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        group, soft = self.group(group_id), self._soft[group_id]
        assignor = assignor_for(self._rules.config_of(group_id), self._rules.assignors)
        described = described_group(group, soft.configured, soft.reported, assignor.name)
        return self._descriptions.attach(described, group) if with_description else described

    def delete(self, group_id: str) -> tuple[StreamsGroupRecord, ...]:
        """Return the records that delete a group. Those of its offsets are not among them.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        self.check_empty(group_id)
        # There is nothing to delete about members, as the group is empty. StreamsGroup.createGroupTombstoneRecords in
        # Kafka has the same order.
        return (
            StreamsGroupTargetAssignmentMetadata(group_id, None),
            StreamsGroupMetadata(group_id, None),
            StreamsGroupTopology(group_id, None),
        )
