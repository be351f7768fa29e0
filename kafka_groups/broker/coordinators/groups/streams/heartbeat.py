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
from kafka_groups.broker.coordinators.groups.streams.records import (
    StreamsAssignment,
    StreamsGroupMemberMetadata,
    StreamsGroupTopology,
    StreamsMember,
    StreamsTarget,
)
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
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import InvalidRequestError
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
        draft = StreamsDraft(self.stored or StreamsGroup(request.group_id))
        group = draft.group
        owned = None if request.active_tasks is None else owned_tasks(request)
        former_id = enter(draft, member_id, request, partial(owns_at_most, owned), self.rules.max_size)
        known, before = group.members.get(member_id), group.current.get(member_id)
        has_changed = self._describe(draft, known)
        configured = self.soft.configure(self._followed_topology(draft), self.topics)
        if owned is not None and configured.is_ready:
            check_owned(owned, configured.subtopologies)
        reported = self._reported()
        has_changed |= self._ends_waiting(group, reported)
        increase_if_due(draft, self.soft, self.topics, self.config, has_changed=has_changed)
        step = self._assigned(draft, configured, reported)
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
        member = described(known, self.request, self.client)
        if member == known:
            return is_unfinished
        draft.write(StreamsGroupMemberMetadata(group.group_id, member_id, member))
        return is_unfinished or takes_new_assignment(known, member, self.request.instance_id)

    def _followed_topology(self, draft: StreamsDraft) -> StreamsTopology:
        """Return the group's topology, which the first member brings along. Older ones are accepted, newer ones not."""
        known = draft.group.topology
        if self.request.topology is None:
            if known is None:
                raise InvalidRequestError(f"Group {draft.group.group_id} has no topology. Join to send one.")
            return known
        sent = topology_of(self.request.topology)
        if known is None:
            draft.write(StreamsGroupTopology(draft.group.group_id, sent))
            return sent
        if sent.epoch >= known.epoch and sent != known:
            raise InvalidRequestError(
                "Topology updates are not supported yet. Use another application id for another topology, or delete "
                "the group."
            )
        return known

    def _reported(self) -> Mapping[str, ReportedOffsets]:
        """Return the offsets of all members' tasks, with those of this heartbeat."""
        offsets, ends = self.request.task_offsets, self.request.task_end_offsets
        if offsets is None and ends is None:
            return self.soft.reported
        known = self.soft.reported.get(self.request.member_id, ReportedOffsets())
        if offsets is not None:
            known = evolve(known, offsets=reported_offsets(offsets))
        if ends is not None:
            known = evolve(known, ends=reported_offsets(ends))
        return {**self.soft.reported, self.request.member_id: known}

    def _ends_waiting(self, group: StreamsGroup, reported: Mapping[str, ReportedOffsets]) -> bool:
        """Return whether a copy has caught up that the group waits for, so that tasks must be assigned again."""
        lag = self.rules.acceptable_recovery_lag
        return self.is_waiting and has_caught_up(group, self.request.member_id, self.soft.reported, reported, lag)

    def _assigned(
        self, draft: StreamsDraft, configured: ConfiguredTopology, reported: Mapping[str, ReportedOffsets]
    ) -> TargetStep:
        """Compute the target assignment if it is due, or begin to."""
        if self.is_delayed:
            return TargetStep(_INITIAL_DELAY)
        context = TargetContext(
            configured, self.config, self.rules, reported, self.topics, self.soft.computation, self.now_ms
        )
        return assign_if_due(draft, context)

    def _remember(self, reported: Mapping[str, ReportedOffsets]) -> None:
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
        has_other_tasks = reached is not before and not reached.has_same_tasks(before or _NO_TASKS)
        found = list(statuses(group, member, configured, delay, self.soft.shutdown_member))
        if self.config.rack_aware_assignment_tags:
            found += missing_tags(member, self.config.rack_aware_assignment_tags, self.version)
        response = StreamsGroupHeartbeatResponse(
            member_id=self.request.member_id,
            member_epoch=reached.member_epoch,
            heartbeat_interval_ms=self.config.heartbeat_interval_ms,
            task_offset_interval_ms=self.rules.task_offset_interval_ms if self.rules.is_4_4 else 0,
            acceptable_recovery_lag=self.rules.acceptable_recovery_lag if self.version >= _FIRST_WITH_LAG else -1,
            status=tuple(found),
        )
        if has_other_tasks or self.request.member_epoch == JOIN_GROUP_EPOCH:
            response = with_tasks(response, reached)
        has_other_endpoint = (None if known is None else known.user_endpoint) != member.user_endpoint
        if has_other_endpoint or (has_other_tasks and member.user_endpoint is not None):
            self.soft.endpoints_epoch += 1
        return self._with_endpoints(response, group, configured)

    def _with_endpoints(
        self, response: StreamsGroupHeartbeatResponse, group: StreamsGroup, configured: ConfiguredTopology
    ) -> StreamsGroupHeartbeatResponse:
        """Add the endpoints for interactive queries, if they have changed since the member received them."""
        epoch = self.soft.endpoints_epoch
        if epoch != self.request.endpoint_information_epoch:
            endpoints = partitions_by_endpoint(group, configured, self.topics)
            response = evolve(response, partitions_by_user_endpoint=endpoints)
        # As in Kafka, the heartbeat that makes a group has no epoch of endpoints yet.
        return evolve(response, endpoint_information_epoch=0 if self.stored is None else epoch)


# ------------------------------------------------------------------------------------------------ members


def owns_at_most(owned: OwnedTasks | None, current: StreamsAssignment) -> bool:
    """Return whether a member says that it owns nothing but tasks that it is assigned."""
    if owned is None:
        return False
    return owned.active <= current.active.keys() and owned.standby <= current.standby and not owned.warmup


def takes_new_assignment(before: StreamsMember | None, after: StreamsMember, instance_id: str | None) -> bool:
    """Return whether a change of a member's description increases the group epoch.

    Every change of a dynamic member does. A static member may come back from another host.
    """
    if before is None or instance_id is None:
        return before != after
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
    said = {name: value for name, value in changes.items() if value is not None}
    if request.member_epoch == JOIN_GROUP_EPOCH:
        said["user_endpoint"] = request.user_endpoint  # a member that rejoins may no longer have one
    changed = {name: value for name, value in said.items() if value != getattr(known, name)}
    return evolve(known, **changed) if changed else known
