"""One heartbeat of a member that joins a streams group or stays in it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.epochs.members import enter
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.assigning.follow_ups import has_caught_up
from kafka_groups.broker.coordinators.groups.streams.assigning.target import (
    TargetContext,
    TargetStep,
    assign_if_due,
    increase_if_due,
)
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.reconciliation import reconcile
from kafka_groups.broker.coordinators.groups.streams.records import StreamsAssignment, StreamsMember, StreamsTarget
from kafka_groups.broker.coordinators.groups.streams.requests import check_owned, reported_offsets
from kafka_groups.broker.coordinators.groups.streams.responses import (
    missing_tags,
    partitions_by_endpoint,
    statuses,
    with_tasks,
)
from kafka_groups.broker.coordinators.groups.streams.settings import StreamsRules
from kafka_groups.broker.coordinators.groups.streams.soft_state import ReportedOffsets, StreamsSoftState
from kafka_groups.broker.coordinators.groups.streams.tasks import OwnedTasks, owned_tasks
from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import ConfiguredTopology
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology, topology_of
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import InvalidRequestError
from kafka_groups.protocol.coordinator_records.streams_group import StreamsGroupMemberMetadata, StreamsGroupTopology
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

__all__ = ["AnsweredHeartbeat", "StreamsHeartbeat"]

_FIRST_WITH_LAG = 1
_NOT_SET = -1
_INITIAL_DELAY = "The first assignment of tasks waits for more members (streams.initial.rebalance.delay.ms)."
_NO_TASKS = StreamsAssignment(member_epoch=0, previous_member_epoch=0)
_NO_TARGET = StreamsTarget()


@frozen
class AnsweredHeartbeat:
    """The result of a heartbeat.

    Attributes:
        response: The response.
        draft: The group with the changes of the heartbeat.
        configured: The topology resolved against the topics of the cluster.
        former_id: The id that the member had before, if it is static and returns.
        has_other_assignment: True if its tasks, epoch or state have changed.
        computations: The assignment whose computation has to begin.
    """

    response: StreamsGroupHeartbeatResponse
    draft: StreamsDraft
    configured: ConfiguredTopology
    former_id: str | None
    has_other_assignment: bool
    computations: tuple[ComputeAssignment, ...] = ()


@frozen
class StreamsHeartbeat:
    """One heartbeat, and what it meets.

    Attributes:
        request: The heartbeat.
        client: The sender of the heartbeat.
        version: The version of its API.
        stored: The group, or None if it does not exist.
        soft: Its soft state.
        config: Its configuration.
        is_delayed: Whether the group waits for more members before tasks are assigned.
        is_waiting: Whether its assignor has asked for another assignment later.
        topics: The topics of the cluster.
        rules: The settings.
        now_ms: The time.
    """

    request: StreamsGroupHeartbeatRequest
    client: MemberClient
    version: int
    stored: StreamsGroup | None
    soft: StreamsSoftState
    config: StreamsGroupConfig
    is_delayed: bool
    is_waiting: bool
    topics: TopicsImage
    rules: StreamsRules
    now_ms: int

    def answered(self) -> AnsweredHeartbeat:
        """Check that the member may join or stay, bring group and member up to date, and return the response.

        Raises:
            InvalidRequestError: The topology is not the group's, or a task does not exist.
            StreamsInvalidTopologyError: The numbers of partitions cannot be derived.
            UnknownServerError: The task assignor failed.
            BrokerError: The group is full, or the member is unknown or fenced.
        """
        request, member_id = self.request, self.request.member_id
        # The steps follow KIP-1071, "Request Handling", in the order of GroupMetadataManager.streamsGroupHeartbeat in
        # Kafka.
        draft = StreamsDraft(self.stored or StreamsGroup(request.group_id))
        group = draft.group
        # A member sends all three lists or none (`owned_tasks` has checked that). None: the tasks have not changed.
        owned = None if request.active_tasks is None else owned_tasks(request)
        former_id = enter(draft, member_id, request, partial(owns_at_most, owned), self.rules.max_size)
        known, before = group.members.get(member_id), group.current.get(member_id)
        has_changed = self._describe(draft, known)
        configured = self.soft.configure(self._followed_topology(draft), self.topics)
        # Tasks can only be checked against a topology that works, because before that it has no numbers of tasks.
        # Kafka's throwIfRequestContainsInvalidTasks is called under the same condition.
        if owned is not None and configured.is_ready:
            check_owned(owned, configured.subtopologies)
        reported = self._reported()
        # KIP-1071, "Rebalance Process", increases the group epoch when a warm-up task has caught up. Kafka 4.4 has no
        # warm-up tasks; here the rule holds for the standbys of an assignor that has asked for a follow-up rebalance
        # (KIP-924).
        has_changed |= self._ends_waiting(group, reported)
        increase_if_due(draft, self.soft, self.topics, self.config, has_changed=has_changed)
        step = self._assigned(draft, configured, reported)
        # During the initial delay members get an empty assignment even if a target assignment is stored, as with
        # GroupMetadataManager.maybeUpdateStreamsTargetAssignment in Kafka.
        target = _NO_TARGET if self.is_delayed else group.target.get(member_id, _NO_TARGET)
        reached = reconcile(draft, member_id, owned, target, group.assignment_epoch)
        self._remember(reported)
        response = self._response(group, known, before, configured, step.delay)
        return AnsweredHeartbeat(response, draft, configured, former_id, reached is not before, step.effects)

    # --------------------------------------------------------------------------------------------- steps

    def _describe(self, draft: StreamsDraft, known: StreamsMember | None) -> bool:
        """Store the member's description if it is another one, and return whether the group epoch has to increase."""
        group, member_id = draft.group, self.request.member_id
        # Without an epoch, a member is there because not all records of an earlier operation were stored.
        is_unfinished = known is not None and member_id not in group.current
        # KIP-1071, "Rebalance Process", increases the group epoch when a member joins or its metadata changes. A
        # retried heartbeat changes nothing and so writes no record
        # (GroupMetadataManager.hasStreamsMemberMetadataChanged).
        member = described(known, self.request, self.client)
        if member == known:
            return is_unfinished
        draft.write(StreamsGroupMemberMetadata(group.group_id, member_id, member))
        return is_unfinished or takes_new_assignment(known, member, self.request.instance_id)

    def _followed_topology(self, draft: StreamsDraft) -> StreamsTopology:
        """Return the group's topology, which the first member brings along. Older ones are accepted, newer ones not."""
        # There are four cases, as in GroupMetadataManager.maybeUpdateTopology: no topology was sent, the first one, an
        # older one, and one with the group's epoch or a newer one. KIP-1071, "Topology updates", would take a newer one
        # as an update.
        known = draft.group.topology
        if self.request.topology is None:
            if known is None:
                # Only a member that joins sends its topology, so this member has joined before, and the record of the
                # topology is missing. Kafka raises IllegalStateException here. INVALID_REQUEST also ends the member,
                # with a message that says why.
                raise InvalidRequestError(f"Group {draft.group.group_id} has no topology. Join to send one.")
            return known
        sent = topology_of(self.request.topology)
        if known is None:
            draft.write(StreamsGroupTopology(draft.group.group_id, sent))
            return sent
        # KIP-1071, "Request Handling", has STREAMS_INVALID_TOPOLOGY_EPOCH and STREAMS_TOPOLOGY_FENCED for these cases.
        # No release returns them: up to 4.4, Kafka rejects another topology with INVALID_REQUEST.
        if sent.epoch >= known.epoch and sent != known:
            raise InvalidRequestError("Topology updates are not supported yet.")
        # A member with an older topology may join, which KIP-1071 forbids. Its response has the status STALE_TOPOLOGY.
        return known

    def _reported(self) -> Mapping[str, ReportedOffsets]:
        """Return the offsets of all members' tasks, with those of this heartbeat."""
        offsets, ends = self.request.task_offsets, self.request.task_end_offsets
        # Most heartbeats carry no offsets. The same object is returned, by which the caller sees that nothing was
        # reported.
        if offsets is None and ends is None:
            return self.soft.reported
        # The two lists are reported independently: a list that has not changed is null and keeps its former value
        # (MemberTaskOffsets.update in Kafka).
        known = self.soft.reported.get(self.request.member_id, ReportedOffsets())
        if offsets is not None:
            known = evolve(known, offsets=reported_offsets(offsets))
        if ends is not None:
            known = evolve(known, ends=reported_offsets(ends))
        return {**self.soft.reported, self.request.member_id: known}

    def _ends_waiting(self, group: StreamsGroup, reported: Mapping[str, ReportedOffsets]) -> bool:
        """Return whether a copy has caught up that the group waits for, so that tasks must be assigned again."""
        lag = self.rules.acceptable_recovery_lag
        # Without a follow-up to come, nobody waits for the copy, and the group would rebalance for nothing.
        return self.is_waiting and has_caught_up(group, self.request.member_id, self.soft.reported, reported, lag)

    def _assigned(
        self, draft: StreamsDraft, configured: ConfiguredTopology, reported: Mapping[str, ReportedOffsets]
    ) -> TargetStep:
        """Compute the target assignment if it is due, or begin to."""
        # While the initial rebalance delay runs, members only learn that they have to wait (status ASSIGNMENT_DELAYED).
        # Several members that start together are thereby assigned tasks once instead of once for each of them.
        if self.is_delayed:
            return TargetStep(_INITIAL_DELAY)
        context = TargetContext(
            configured, self.config, self.rules, reported, self.topics, self.soft.computation, self.now_ms
        )
        return assign_if_due(draft, context)

    def _remember(self, reported: Mapping[str, ReportedOffsets]) -> None:
        # Soft state changes last: a heartbeat that is rejected before leaves no trace.
        if reported is not self.soft.reported:
            self.soft.reported[self.request.member_id] = reported[self.request.member_id]
        if self.request.shutdown_application and self.soft.shutdown_member is None:
            self.soft.shutdown_member = self.request.member_id

    # ------------------------------------------------------------------------------------------ response

    def _response(
        self,
        group: StreamsGroup,
        known: StreamsMember | None,
        before: StreamsAssignment | None,
        configured: ConfiguredTopology,
        delay: str | None,
    ) -> StreamsGroupHeartbeatResponse:
        member, reached = group.members[self.request.member_id], group.current[self.request.member_id]
        # Kafka compares assigned tasks together with their epochs (StreamsGroupMember.hasAssignedTasksChanged). Tasks
        # pending revocation do not count: the member learned of the revocation when they left its assignment.
        has_other_tasks = reached is not before and not reached.has_same_tasks(before or _NO_TASKS)
        found = list(statuses(group, member, configured, delay, self.soft.shutdown_member))
        if self.config.rack_aware_assignment_tags:
            found += missing_tags(member, self.config.rack_aware_assignment_tags, self.version)
        response = StreamsGroupHeartbeatResponse(
            member_id=self.request.member_id,
            member_epoch=reached.member_epoch,
            heartbeat_interval_ms=self.config.heartbeat_interval_ms,
            # Releases before 4.4 do not accept task offsets, so they leave the interval at 0.
            task_offset_interval_ms=self.rules.task_offset_interval_ms if self.rules.is_4_4 else 0,
            # Version 0 has a field of 32 bits, which is unused; -1 is the default of version 1.
            acceptable_recovery_lag=self.rules.acceptable_recovery_lag if self.version >= _FIRST_WITH_LAG else -1,
            status=tuple(found),
        )
        # A member that joins gets its tasks even if they did not change, because it may have lost them with its former
        # life. In all other responses the lists are null while nothing changes (KIP-1071, "Heartbeat handling &
        # response").
        if has_other_tasks or self.request.member_epoch == JOIN_GROUP_EPOCH:
            response = with_tasks(response, reached)
        # Others have to learn that an endpoint moved, and that its partitions changed. A member without an endpoint
        # cannot be queried, so its tasks do not matter (GroupMetadataManager.hasUserEndpointChanged).
        has_other_endpoint = (None if known is None else known.user_endpoint) != member.user_endpoint
        if has_other_endpoint or (has_other_tasks and member.user_endpoint is not None):
            self.soft.endpoints_epoch += 1
        return self._with_endpoints(response, group, configured)

    def _with_endpoints(
        self, response: StreamsGroupHeartbeatResponse, group: StreamsGroup, configured: ConfiguredTopology
    ) -> StreamsGroupHeartbeatResponse:
        """Add the endpoints for interactive queries, if they have changed since the member received them."""
        epoch = self.soft.endpoints_epoch
        # The endpoints of all members are a long list. Members report the epoch of the list that they have, so that the
        # broker sends it only when it has changed. KIP-1071 has no such epoch; releases do.
        if epoch != self.request.endpoint_information_epoch:
            endpoints = partitions_by_endpoint(group, configured, self.topics)
            response = evolve(response, partitions_by_user_endpoint=endpoints)
        # As in Kafka, the heartbeat that makes a group has no epoch of endpoints yet.
        return evolve(response, endpoint_information_epoch=0 if self.stored is None else epoch)


# ------------------------------------------------------------------------------------------------ members


def owns_at_most(owned: OwnedTasks | None, current: StreamsAssignment) -> bool:
    """Return whether a member says that it owns nothing but tasks that it is assigned."""
    # A member that does not list its tasks may own anything. It is fenced, as by Kafka's
    # areOwnedTasksContainedInAssignedTasks.
    if owned is None:
        return False
    # No member has warm-up tasks, so one that reports any owns more than it was given.
    return owned.active <= current.active.keys() and owned.standby <= current.standby and not owned.warmup


def takes_new_assignment(before: StreamsMember | None, after: StreamsMember, instance_id: str | None) -> bool:
    """Return whether a change of a member's description increases the group epoch.

    Every change of a dynamic member does. A static member may come back from another host.
    """
    # GroupMetadataManager.hasStreamsMemberMetadataChanged in Kafka has the same two cases. A dynamic member gets a new
    # group epoch for every change, also one of its client id or endpoint.
    if before is None or instance_id is None:
        return before != after
    # A static member that restarts often has another host or endpoint. If those increased the group
    # epoch, every restart would cause a rebalance. Only what an assignor looks at does
    # (GroupMetadataManager.hasEpochRelevantMemberConfigChanged).
    return _placement_facts(before) != _placement_facts(after)


def _placement_facts(member: StreamsMember) -> tuple[object, ...]:
    return (member.topology_epoch, member.rack_id, member.client_tags, member.process_id)


def described(
    known: StreamsMember | None, request: StreamsGroupHeartbeatRequest, client: MemberClient
) -> StreamsMember:
    """Return the member's description after a request. Fields that the request leaves out do not change."""
    if known is None:
        known = StreamsMember(client_id=client.client_id, client_host=client.client_host)
    changes: dict[str, Any] = {
        "client_id": client.client_id,
        "client_host": client.client_host,
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": None if request.rebalance_timeout_ms == _NOT_SET else request.rebalance_timeout_ms,
        "topology_epoch": None if request.topology is None else request.topology.epoch,
        "process_id": request.process_id,
        "user_endpoint": request.user_endpoint,
        "client_tags": None if request.client_tags is None else {tag.key: tag.value for tag in request.client_tags},
    }
    # KIP-1071, "Joining, leaving and staying in a Streams group": a member may omit what has not changed.
    said = {name: value for name, value in changes.items() if value is not None}
    if request.member_epoch == JOIN_GROUP_EPOCH:
        said["user_endpoint"] = request.user_endpoint  # a member that rejoins may no longer have one
    changed = {name: value for name, value in said.items() if value != getattr(known, name)}
    return evolve(known, **changed) if changed else known
