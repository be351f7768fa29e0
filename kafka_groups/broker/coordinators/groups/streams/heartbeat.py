"""One heartbeat of a member that joins a streams group or stays in it."""

from collections.abc import Mapping
from functools import partial

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.epochs.members import enter
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.configured_topology import ConfiguredTopology
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.members import (
    has_other_endpoint,
    owns_at_most,
    takes_new_assignment,
    update_member,
)
from kafka_groups.broker.coordinators.groups.streams.reconciliation import reconcile
from kafka_groups.broker.coordinators.groups.streams.records import (
    StreamsAssignment,
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
from kafka_groups.broker.coordinators.groups.streams.target import (
    assignment_configs,
    assignor_for,
    increase_if_due,
    update_target,
)
from kafka_groups.broker.coordinators.groups.streams.tasks import OwnedTasks
from kafka_groups.broker.coordinators.groups.streams.topology import StreamsTopology, topology_of
from kafka_groups.broker.coordinators.groups.topics import TopicsImage
from kafka_groups.errors import InvalidRequestError
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

__all__ = ["ReceivedHeartbeat", "StreamsHeartbeat"]

_FIRST_WITH_LAG = 1
_INITIAL_DELAY = "The first assignment of tasks waits for more members (streams.initial.rebalance.delay.ms)."
_INTERVAL = "The next assignment of tasks waits for its interval (streams.assignment.interval.ms)."


@frozen
class ReceivedHeartbeat:
    """A heartbeat, where it comes from, and the version of its API."""

    request: StreamsGroupHeartbeatRequest
    client: MemberClient
    version: int


class StreamsHeartbeat:
    """The steps of one heartbeat. `enter` comes first, then `respond`.

    Args:
        received: The heartbeat.
        stored: The group, or None if it does not exist.
        soft: Its soft state.
        topics: The topics of the cluster.
        rules: The settings.

    Attributes:
        draft: The group as it will be.
        config: The group's configuration.
        before: The member's tasks before the heartbeat, or None if it is new. Set by `enter`.
        configured: What the topology becomes with the topics of the cluster. Set by `respond`.
    """

    before: StreamsAssignment | None
    configured: ConfiguredTopology

    def __init__(
        self,
        received: ReceivedHeartbeat,
        stored: StreamsGroup | None,
        soft: StreamsSoftState,
        topics: TopicsImage,
        rules: StreamsRules,
    ) -> None:
        self.request = received.request
        self.draft = StreamsDraft(stored or StreamsGroup(received.request.group_id))
        self.config = rules.config_of(received.request.group_id)
        self._client = received.client
        self._version = received.version
        self._is_new_group = stored is None
        self._soft = soft
        self._topics = topics
        self._rules = rules
        self._owned: OwnedTasks | None = None
        self._former_id: str | None = None

    @property
    def _is_joining(self) -> bool:
        return self.request.member_epoch == JOIN_GROUP_EPOCH

    def enter(self, owned: OwnedTasks | None) -> str | None:
        """Check that the member may join or stay, and return the id that it had before, if it is static and returns.

        Raises:
            BrokerError: As for `epochs.members.enter`.
        """
        self._owned = owned
        self._former_id = enter(
            self.draft, self.request.member_id, self.request, partial(owns_at_most, owned), self._rules.max_size
        )
        self.before = self.draft.group.current.get(self.request.member_id)
        return self._former_id

    def respond(self, *, is_delayed: bool) -> StreamsGroupHeartbeatResponse:
        """Bring group and member up to date, and return the response.

        Args:
            is_delayed: Whether the group waits for more members before tasks are assigned.

        Raises:
            InvalidRequestError: The topology is not the group's, or a task does not exist.
            StreamsInvalidTopologyError: The numbers of partitions cannot be derived.
            UnknownServerError: The task assignor failed.
        """
        known = self.draft.group.members.get(self.request.member_id)
        member = update_member(self.draft, self.request, self._client)
        has_changed = takes_new_assignment(known, member, self.request.instance_id) or self._is_unfinished(known)
        self.configured = self._soft.configure(self._followed_topology(), self._topics)
        if self.configured.is_ready:
            check_owned(self._owned, self.configured.subtopologies)
        reported = self._reported()
        self._increase_epoch(has_changed=has_changed)
        delay = self._assign(reported, is_delayed=is_delayed)
        target, epoch = self._reachable_target(is_delayed=is_delayed)
        reached = reconcile(self.draft, self.request.member_id, self._owned, target, epoch)
        self._remember(reported)
        return self._response(known, member, reached, delay)

    # --------------------------------------------------------------------------------------------- steps

    def _is_unfinished(self, known: StreamsMember | None) -> bool:
        """Without an epoch, the member is there because not all records of an earlier operation were stored."""
        return known is not None and self.request.member_id not in self.draft.group.current

    def _followed_topology(self) -> StreamsTopology:
        """Return the group's topology, which the first member brings along. Older ones are accepted, newer ones not."""
        known = self.draft.group.topology
        if self.request.topology is None:
            if known is None:
                raise InvalidRequestError(f"Group {self.draft.group.group_id} has no topology. Join to send one.")
            return known
        sent = topology_of(self.request.topology)
        if known is None:
            self.draft.write(StreamsGroupTopology(self.draft.group.group_id, sent))
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
            return self._soft.reported
        known = self._soft.reported.get(self.request.member_id, ReportedOffsets())
        if offsets is not None:
            known = evolve(known, offsets=reported_offsets(offsets))
        if ends is not None:
            known = evolve(known, ends=reported_offsets(ends))
        return {**self._soft.reported, self.request.member_id: known}

    def _increase_epoch(self, *, has_changed: bool) -> None:
        facts = (self._topics.version, self.draft.group.metadata)
        configs = assignment_configs(self.config)
        is_same = facts == self._soft.hashed and configs == self._soft.configs
        if has_changed or not is_same:
            increase_if_due(self.draft, self._topics, self.configured, configs, has_changed=has_changed)
            self._soft.hashed, self._soft.configs = (self._topics.version, self.draft.group.metadata), configs

    def _assign(self, reported: Mapping[str, ReportedOffsets], *, is_delayed: bool) -> str | None:
        """Compute the target assignment if it is due. Return why it is not computed yet, if that is so."""
        group, wall_ms = self.draft.group, self._rules.wall_ms()
        if is_delayed:
            return _INITIAL_DELAY
        if group.assignment_epoch >= group.epoch:
            return None
        if not group.may_compute_target(self.config.assignment_interval_ms, wall_ms):
            return _INTERVAL
        assignor = assignor_for(self.config, self._rules.assignors)
        update_target(self.draft, self.configured, assignor, self.config, reported, wall_ms)
        return None

    def _reachable_target(self, *, is_delayed: bool) -> tuple[StreamsTarget, int]:
        group = self.draft.group
        target = StreamsTarget() if is_delayed else group.target_of(self.request.member_id)
        return target, group.assignment_epoch

    def _remember(self, reported: Mapping[str, ReportedOffsets]) -> None:
        if self.request.task_offsets is not None or self.request.task_end_offsets is not None:
            self._soft.reported[self.request.member_id] = reported[self.request.member_id]
        if self.request.shutdown_application and self._soft.shutdown_member is None:
            self._soft.shutdown_member = self.request.member_id

    # ------------------------------------------------------------------------------------------ response

    def _response(
        self, known: StreamsMember | None, member: StreamsMember, reached: StreamsAssignment, delay: str | None
    ) -> StreamsGroupHeartbeatResponse:
        has_other_tasks = not reached.has_same_tasks(self.before or _NO_TASKS)
        response = self._without_tasks(member, reached, delay)
        if self._is_joining or has_other_tasks:
            response = with_tasks(response, reached)
        if has_other_endpoint(known, member) or (has_other_tasks and member.user_endpoint is not None):
            self._soft.endpoints_epoch += 1
        return self._with_endpoints(response)

    def _without_tasks(
        self, member: StreamsMember, reached: StreamsAssignment, delay: str | None
    ) -> StreamsGroupHeartbeatResponse:
        found = statuses(self.draft.group, member, self.configured, delay, self._soft.shutdown_member)
        tags = missing_tags(member, self.config.rack_aware_assignment_tags, self._version)
        rules = self._rules
        return StreamsGroupHeartbeatResponse(
            member_id=self.request.member_id,
            member_epoch=reached.member_epoch,
            heartbeat_interval_ms=self.config.heartbeat_interval_ms,
            task_offset_interval_ms=rules.task_offset_interval_ms if rules.is_4_4 else 0,
            acceptable_recovery_lag=rules.acceptable_recovery_lag if self._version >= _FIRST_WITH_LAG else -1,
            status=(*found, *tags),
        )

    def _with_endpoints(self, response: StreamsGroupHeartbeatResponse) -> StreamsGroupHeartbeatResponse:
        """Add who answers queries for what, if that has changed since the member was told."""
        epoch = self._soft.endpoints_epoch
        if epoch != self.request.endpoint_information_epoch:
            endpoints = partitions_by_endpoint(self.draft.group, self.configured, self._topics)
            response = evolve(response, partitions_by_user_endpoint=endpoints)
        # As in Kafka, the heartbeat that makes a group has no epoch of endpoints yet.
        return evolve(response, endpoint_information_epoch=0 if self._is_new_group else epoch)


_NO_TASKS = StreamsAssignment(member_epoch=0, previous_member_epoch=0)
