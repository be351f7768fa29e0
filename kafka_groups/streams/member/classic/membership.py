"""The protocol of a member of a classic group: rounds of JoinGroup and SyncGroup, heartbeats, leaving."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.admin.rules.streams_leader.group_round import MOST_BYTES
from kafka_groups.client.membership.transitions import next_member_state
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import KafkaGroupsError, UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatResponse
from kafka_groups.protocol.messages.join_group import JoinGroupResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupResponse
from kafka_groups.protocol.messages.sync_group import SyncGroupResponse
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.classic.answers import ErrorReaction, RoundStep, reaction_to
from kafka_groups.streams.member.classic.assignment import AssignmentCode, ClassicAssignment
from kafka_groups.streams.member.classic.leading import LedGeneration
from kafka_groups.streams.member.classic.member_refusals import (
    no_leader,
    refusal,
    too_large,
)
from kafka_groups.streams.member.classic.member_state import ClassicMemberState
from kafka_groups.streams.member.classic.member_subscription import ClassicSubscription
from kafka_groups.streams.member.classic.transitions import TRANSITIONS, ClassicMembershipEvent
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.missing_rights import explained_refusal
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId

__all__ = ["ClassicMembership"]

_HEARTBEATING: Final = frozenset(
    {MembershipState.LEADING, MembershipState.SYNCING, MembershipState.RECONCILING, MembershipState.STABLE}
)
_IN_ROUND: Final = frozenset({MembershipState.JOINING, MembershipState.LEADING, MembershipState.SYNCING})

_APIS: Final = {
    RoundStep.JOIN: ApiKey.JOIN_GROUP,
    RoundStep.SYNC: ApiKey.SYNC_GROUP,
    RoundStep.HEARTBEAT: ApiKey.HEARTBEAT,
}
_OVER: Final = frozenset({MembershipState.UNJOINED, MembershipState.LEAVING, MembershipState.FATAL})


class ClassicMembership(ClassicMemberState):
    """The request manager that sends JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""

    # ------------------------------------------------------------------------------------ leading

    def assign(self, led: LedGeneration, assignments: Mapping[str, bytes], error: str = "") -> bool:
        """Send the assignments of a generation that the member leads. Return whether the generation is not over.

        Args:
            led: The generation. If it is over, nothing happens.
            assignments: The assignments by the ids of members.
            error: Why all members get an error instead of tasks.
        """
        if led is not self.to_lead or self.state is not MembershipState.LEADING:
            return False
        self._round.assignments, self._round.error = assignments, error
        self._handle(ClassicMembershipEvent.LED)
        return True

    def could_not_lead(self, led: LedGeneration, error: KafkaGroupsError, now_ms: int, *, is_final: bool) -> None:
        """Leave the group, because the member leads it and cannot assign tasks. It joins again if that may pass."""
        if led is not self.to_lead or self.state is not MembershipState.LEADING:
            return
        if is_final:
            self._leave_because_of(error, now_ms)
            return
        # Another member leads then. Java's thread ends in this case, and the group waits for its session.
        self._rounds.not_led(error)
        self._depart("it could not assign the tasks of the group")
        self._fence(now_ms)

    def request_round(self, reason: str, at_ms: int = 0) -> None:
        """Join again when the member has what it was assigned, at once or at a time.

        Args:
            reason: Why, for example because topics have grown.
            at_ms: The time by the monotonic clock; 0 for at once.
        """
        self._follow_ups.want(reason, at_ms)

    # ------------------------------------------------------------------------------------- topics

    def saw_topics(self, existing: Iterable[str], now_ms: int) -> None:
        """Subscribe to those of the topics that exist that patterns match. If others were before, join again."""
        if self.state in _OVER:
            return
        try:
            changes = self._subscribed.saw(existing)
        except TopologyError as error:
            self._end_because_of(error, now_ms)
            return
        if changes and self.epoch:
            self._rounds.topics_changed(changes)
            self._follow_ups.want("the topics that match its patterns have changed")
        self._note_topics()

    def learn_topics(self, topics: Iterable[str]) -> None:
        """Subscribe to topics that match patterns and that other members have found first."""
        if self._subscribed.has_patterns:
            self._subscribed.learn(topics)
            self._note_topics()

    def _note_topics(self) -> None:
        # A topic may be deleted before the tasks that read it are closed.
        owned = {partition.topic for partition in self._reconciliation.partitions}
        self.description = evolve(self.description, topology=self._subscribed.topology_with(owned))
        if patterns := self._subscribed.without_topics():
            self._rounds.without_topics(patterns)

    def _end_because_of(self, error: KafkaGroupsError, now_ms: int) -> None:
        if self.member_id:
            self._leave_because_of(error, now_ms)
        else:
            self._refuse(error, now_ms)

    # ------------------------------------------------------------------ what the application does

    def join(self, now_ms: int) -> None:
        """Join the group.

        Raises:
            IllegalStateError: The member has joined already.
        """
        self._handle(ClassicMembershipEvent.JOIN)
        self._coordinator.wanted = True
        self.calls.called(now_ms)
        self._follow_ups.want("it starts")

    def leave(self, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT) -> None:
        """Leave the group. Commit and close the tasks first: they are given up at once, without an event."""
        self._handle(ClassicMembershipEvent.LEAVE)
        # Static members stay by default, so that they can return to their tasks (KIP-345).
        stays = GroupMembershipOperation.REMAIN_IN_GROUP, GroupMembershipOperation.DEFAULT
        if operation not in (stays if self.description.instance_id is not None else stays[:1]):
            self._depart("the member was closed")
        self._reconciliation.drop()
        self._end_life()
        if self.state is MembershipState.LEAVING and self._departure.who is None:
            self._handle(ClassicMembershipEvent.LEFT)

    def _depart(self, reason: str) -> None:
        """Send LeaveGroup if the group may have the member. If it joins again, it is another member."""
        if self.member_id:
            self._departure.begin(self._identity, reason)
            self._former_id = self.member_id  # for the log
        self.member_id = ""

    def give_up_leaving(self) -> None:
        """Stop trying to notify the coordinator. It removes the member when its session times out."""
        if self.state is MembershipState.LEAVING:
            self._log.not_told()
            self._departed()
        self._departure.end()

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down. The next JoinGroup says so."""
        self._group.request_shutdown()
        self._follow_ups.want("all members have to shut down")

    def ask_again(self) -> int:
        """Heartbeat as soon as possible. Return how many will have been accepted when this one is."""
        self._session.now()
        return self.heard + (2 if self._session.in_flight is not None else 1)

    def application_called(self, now_ms: int) -> None:
        """Note that the application is alive, which restarts `max.poll.interval.ms`. A stale member rejoins."""
        self.calls.called(now_ms)
        if self.state is MembershipState.STALE and not self._tasks.awaits_confirmation:
            self._rejoin("the program polls again")

    def confirm(self, event: TasksRevoked | TasksLost, now_ms: int) -> None:
        """Note that the application has closed the tasks of an event. A second time, nothing happens."""
        if not self._tasks.confirm(event) or self._tasks.awaits_confirmation:
            return
        # A fenced member rejoins only now that its tasks are closed, and a reconciling one takes what it was assigned.
        # A stale member waits for the application's next call.
        if self.state is MembershipState.FENCED:
            self._rejoin("it has lost its tasks")
        elif self.state is MembershipState.RECONCILING:
            self._advance(now_ms)

    def take_events(self) -> tuple[StreamsMembershipEvent, ...]:
        """Remove and return the events for the application, on its thread."""
        return self._tasks.inbox.take()

    # ----------------------------------------------------------------------------------- requests

    def poll(self, now_ms: int) -> PollResult:
        """Return the requests that are due: LeaveGroup, JoinGroup or SyncGroup, and Heartbeat."""
        self._remind(now_ms)
        self._check_calls(now_ms)
        if self._round.inquiry.remaining_ms(now_ms) == 0:
            self._rounds.given_up(self.member_id)
            self._round.give_up()
        if self.state is MembershipState.STABLE and self._follow_ups.remaining_ms(now_ms) == 0:
            self._begin_round()
        node_id = self._coordinator.node_id
        requests = () if node_id is None else tuple(self._due(node_id, now_ms))
        return PollResult(requests, self._wait_ms(now_ms))

    def _due(self, node_id: int, now_ms: int) -> Iterator[OutgoingRequest]:
        if self._departure.who is not None and self._departure.remaining_ms(now_ms) == 0:
            leaving = self._requests.leave(node_id, self._departure.who, self._departure.reason)
            self._departure.in_flight = leaving
            yield leaving
        # Before JoinGroup, which stops heartbeats.
        if self._heartbeat_in_ms(now_ms) == 0:
            yield self._heartbeat(node_id, now_ms)
        if self._round_in_ms(now_ms) == 0:
            yield self._join_group(node_id, now_ms) if self.state is MembershipState.JOINING else self._sync(node_id)

    def _wait_ms(self, now_ms: int) -> int:
        waits = [each.remaining_ms(now_ms) for each in (self.unconfirmed_since, self._round.watch, self._round.inquiry)]
        if self.state in IN_GROUP:
            waits.append(self.calls.remaining_ms(now_ms))
        if self.state is MembershipState.STABLE:
            waits.append(self._follow_ups.remaining_ms(now_ms))
        if self.state is MembershipState.RECONCILING and self._asked_ms is not None:
            waits.append(max(0, self._holds_up_ms - now_ms))
        if self._coordinator.node_id is not None:
            waits += [
                self._departure.remaining_ms(now_ms),
                self._heartbeat_in_ms(now_ms),
                self._round_in_ms(now_ms),
            ]
        return min(waits)

    def _round_in_ms(self, now_ms: int) -> int:
        """Return how long until JoinGroup or SyncGroup is due."""
        is_joining = self.state is MembershipState.JOINING
        # Commits that have begun end first. A member that has to leave under its old id joins after that, and one with
        # patterns when it knows the topics.
        is_held = is_joining and (
            self._round.is_held or self._departure.who is not None or not self._subscribed.is_fresh
        )
        if is_held or not (is_joining or self.state is MembershipState.SYNCING):
            return NEVER_MS
        return self._round.remaining_ms(now_ms)

    def _heartbeat_in_ms(self, now_ms: int) -> int:
        if self._heartbeats:
            return self._session.remaining_ms(now_ms)
        # One whose JoinGroup is not answered for long asks whether it will be.
        begins_in_ms = self._round.inquiry.begins_in_ms(now_ms) if self.member_id else NEVER_MS
        return max(begins_in_ms, self._session.remaining_ms(now_ms))

    @property
    def _heartbeats(self) -> bool:
        """True if the member heartbeats: a commit, the leader or tasks that close must not cost its membership."""
        is_held = self.state is MembershipState.JOINING and self.epoch > 0 and not self._round.join_sent
        return self.state in _HEARTBEATING or is_held

    def _heartbeat(self, node_id: int, now_ms: int) -> OutgoingRequest:
        request = self._requests.heartbeat(node_id, self._identity)
        self._session.sent(request, now_ms)
        self.sensors.member.sent_ms = now_ms
        return request

    def _join_group(self, node_id: int, now_ms: int) -> OutgoingRequest:
        self._round.building(self._follow_ups.begin())
        metadata = ClassicSubscription(
            version=self._version.used,
            generation=self.epoch,
            owned=self._reconciliation.partitions,
            positions=self._positions(),
            unique_field=self._round.joins,
            topics=self._subscribed.names,
            error_code=self._group.error_code,
        ).encode(self.description)
        self._round.watch.sent(now_ms)
        self._round.inquiry.sent(now_ms)
        self._session.heard(now_ms)
        self.sensors.rebalances.begun(now_ms)
        return self._round.sent(self._requests.join(node_id, self._identity, metadata, self._round.reason))

    def _positions(self) -> Mapping[TaskId, TaskPosition]:
        """Return the positions of the member's tasks, and of dormant ones that it names."""
        own = self._surroundings.positions()  # first: what is opened meanwhile was dormant
        dormant = self._surroundings.dormant.claim()
        return {**{task: TaskPosition(offset) for task, offset in dormant.items()}, **own}

    def _sync(self, node_id: int) -> OutgoingRequest:
        return self._round.sent(self._requests.sync(node_id, self._identity, self._round.assignments))

    # ---------------------------------------------------------------------------------- reminders

    def _remind(self, now_ms: int) -> None:
        awaits = self._tasks.awaits_confirmation and self.state is not MembershipState.FATAL
        if self.unconfirmed_since.is_due(now_ms, awaits_confirmation=awaits):
            self._log.unconfirmed(self.unconfirmed, self.state, now_ms - (self.unconfirmed_since.since_ms or 0))
        if (waited_ms := self._round.watch.due(now_ms)) is not None:
            self._rounds.waits(self.member_id, waited_ms)
        if self._asked_ms is not None and now_ms >= self._holds_up_ms:
            self._rounds.holds_up(self.member_id, self.unconfirmed, now_ms - self._asked_ms)
            self._asked_ms = None

    @property
    def _holds_up_ms(self) -> int:
        """The time at which half of the rebalance timeout is over for which others wait for this member."""
        return (self._asked_ms or 0) + self.description.rebalance_timeout_ms // 2

    def _check_calls(self, now_ms: int) -> None:
        if self.state not in IN_GROUP or self.calls.remaining_ms(now_ms) > 0:
            return
        self._log.overdue(self.calls.limit_ms)
        # A static member stays silent, and the group waits for its return until its session ends, as in Java.
        if self.description.instance_id is None:
            self._depart("the program did not poll for max.poll.interval.ms")
        self._handle(ClassicMembershipEvent.OVERDUE)
        self._lose_tasks(now_ms)

    # ---------------------------------------------------------------------------------- responses

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Apply the coordinator's response, or react to the error. Outdated ones have no effect."""
        if request is self._departure.in_flight:
            self._leave_answered(answer.message, now_ms)
        elif request is self._session.in_flight:
            self.sensors.member.answered(answer.latency_ms, now_ms)
            self._heartbeat_answered(request, answer.message, now_ms)
        elif request is self._round.in_flight:
            self._round.answered(answer.message.throttle_time_ms, now_ms)
            self._round_answered(request.api, answer, now_ms)

    def _round_answered(self, api: ApiKey, answer: ClientResponse, now_ms: int) -> None:
        joins = api is ApiKey.JOIN_GROUP
        if answer.message.error_code is ErrorCode.NONE:
            (self.round_sensors.joins if joins else self.round_sensors.syncs).add(answer.latency_ms, now_ms)
        (self._join_answered if joins else self._sync_answered)(answer.message, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Look the coordinator up again, and retry."""
        if request is self._departure.in_flight:
            self._departure.failed(now_ms)
            self._part()
        elif request is self._session.in_flight:
            self._session.failed(now_ms)
        elif request is self._round.in_flight:
            self._round.answered(0, now_ms)
            self._round_failed(error, now_ms)
        else:
            return
        if request.node_id == self._coordinator.node_id:
            self._coordinator.mark_unknown()

    def _round_failed(self, error: Exception, now_ms: int) -> None:
        if isinstance(error, UnsupportedVersionError):
            self._refuse(error, now_ms)
            return
        self._round.failed(now_ms)
        # The member keeps its id and its tasks: the coordinator tells whether it still has both.
        if self.state is MembershipState.SYNCING:
            self._begin_round()

    def _leave_answered(self, response: LeaveGroupResponse, now_ms: int) -> None:
        # An error for the member alone, such as UNKNOWN_MEMBER_ID, says that it is not in the group.
        if self._departure.is_answered_by(response.error_code) or self._parting_error is not None:
            self._departure.end()
            self._part()
            return
        self._coordinator.mark_unknown()
        self._departure.failed(now_ms)

    def _part(self) -> None:
        """End the membership, if LeaveGroup was answered or is no longer waited for."""
        if self.state is not MembershipState.LEAVING:
            return
        if self._departure.who is None or self._parting_error is not None:
            self._log.left()
            self._departed()

    def _departed(self) -> None:
        if self._parting_error is None:
            self._handle(ClassicMembershipEvent.LEFT)
            return
        self._departure.end()
        self._errors.report_fatal(self._parting_error)
        self._handle(ClassicMembershipEvent.REFUSED)

    def _heartbeat_answered(self, request: OutgoingRequest, response: HeartbeatResponse, now_ms: int) -> None:
        if response.error_code is ErrorCode.NONE:
            self._session.answered(response.throttle_time_ms, now_ms)
            self.heard += 1
        else:
            self._session.refused()
        # The answer to a heartbeat of an earlier generation says nothing about this one.
        if request.context != self._identity:
            return
        if self._heartbeats:
            if response.error_code is not ErrorCode.NONE:
                self._react(RoundStep.HEARTBEAT, response.error_code, now_ms)
        elif self._round.inquiry.begins_in_ms(now_ms) == 0:
            self._inquired(request.node_id, response.error_code, now_ms)

    def _inquired(self, node_id: int | None, code: ErrorCode, now_ms: int) -> None:
        """React to the answer to a heartbeat while JoinGroup waits for its own, which counts if it still comes."""
        in_doubt = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION
        if code not in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS, *in_doubt):
            self._react(RoundStep.HEARTBEAT, code, now_ms)
            return
        # A member that has just come has no generation, which any generation of its group contradicts. JoinGroup at a
        # broker that no longer coordinates the group will not be answered.
        is_illegal = code is ErrorCode.ILLEGAL_GENERATION and self.epoch > 0
        is_elsewhere = self._round.in_flight is None or self._round.in_flight.node_id != node_id
        self._round.inquiry.heard(now_ms, waits=not (code is ErrorCode.UNKNOWN_MEMBER_ID or is_illegal or is_elsewhere))

    def _join_answered(self, response: JoinGroupResponse, now_ms: int) -> None:
        if response.error_code is ErrorCode.NONE:
            self._joined(response, now_ms)
            return
        if reaction_to(RoundStep.JOIN, response.error_code) is ErrorReaction.KEEP_ID:
            self.member_id = response.member_id
            return
        self._react(RoundStep.JOIN, response.error_code, now_ms)

    def _joined(self, response: JoinGroupResponse, now_ms: int) -> None:
        self.member_id, self.epoch = response.member_id, response.generation_id
        self._round.joined(response.leader)
        self._session.heard(now_ms)
        if not response.leader:
            self._leave_because_of(no_leader(self.description), now_ms)
            return
        leads = self.round_sensors.is_leader = response.leader == response.member_id
        skips = response.skip_assignment
        self.to_lead = LedGeneration(response.generation_id, response.members, skips) if leads else None
        self._handle(ClassicMembershipEvent.LEAD if leads and not skips else ClassicMembershipEvent.FOLLOW)

    def _sync_answered(self, response: SyncGroupResponse, now_ms: int) -> None:
        if response.error_code is ErrorCode.NONE:
            self._take(response.assignment, now_ms)
        elif response.error_code is ErrorCode.UNKNOWN_SERVER_ERROR and self._round.assigned_bytes > MOST_BYTES:
            self._leave_because_of(too_large(self._round.assigned_bytes, self.description), now_ms)
        else:
            self._react(RoundStep.SYNC, response.error_code, now_ms)

    # -------------------------------------------------------------------------------- assignments

    def _take(self, data: bytes, now_ms: int) -> None:
        try:
            heard = ClassicAssignment.decode(data, self._subscribed.topology_with, self._round.leader)
            is_error = heard.info.error_code != AssignmentCode.NONE
            has_new_version = not is_error and self._version.heard(heard.info)
        except (StreamsError, TopologyError) as error:
            self._leave_because_of(error, now_ms)
            return
        self._round.over()
        self._session.assigned(now_ms)
        self._handle(ClassicMembershipEvent.ASSIGNED)
        if is_error:
            self._note_error(heard.info.error_code, now_ms)
        else:
            self._assigned(heard, now_ms, has_new_version=has_new_version)

    def _assigned(self, heard: ClassicAssignment, now_ms: int, *, has_new_version: bool) -> None:
        owned, tasks = self.owned, heard.tasks
        self._rounds.assigned(
            self.epoch,
            self.member_id,
            self._round.reason,
            leads=self.to_lead is not None,
            taken=tasks - owned,
            given_up=owned - tasks,
        )
        self._group.endpoints = heard.endpoints
        self.learn_topics(partition.topic for its in heard.inputs.values() for partition in its)
        if owned.active - tasks.active:
            self._follow_ups.want("it has given up active tasks, which others wait for")
        if has_new_version:
            self._follow_ups.want(f"its subscription has version {self._version.used} now")
        self._follow_ups.assigned(heard, self.description.user_endpoint, now_ms)
        if self._group.has_to_ask:
            self._ask_for_shutdown(now_ms)
        self._reconciliation.assign(tasks, heard.inputs)
        self._advance(now_ms)

    def _ask_for_shutdown(self, now_ms: int) -> None:
        """Ask for the shutdown again, as this round did not bring it. Old members cannot be asked."""
        if self._group.shut_down_alone(self._version.used):
            self._rounds.cannot_shut_down(self._version.used)
        else:
            self._follow_ups.want("all members have to shut down", now_ms + self._settings.pause_ms)

    def _advance(self, now_ms: int) -> None:
        self._reconciliation.advance(self.epoch)
        if self._tasks.awaits_confirmation:
            if self.state is MembershipState.STABLE:
                self._handle(ClassicMembershipEvent.REVOKE)
            return
        if self.state is MembershipState.RECONCILING:
            self._handle(ClassicMembershipEvent.OWN)
        self._asked_ms = None
        self.round_sensors.partitions = len(self._reconciliation.partitions)
        self.sensors.rebalanced(now_ms)

    def _note_error(self, code: int, now_ms: int) -> None:
        """React to an assignment that is an error. The member keeps its tasks until its application ends."""
        leader = f"this member ({self.member_id})" if self.to_lead is not None else self._round.leader
        self._rounds.refused(self.epoch, self.member_id, code, leader)
        error = self._group.refused(code, leader, self._round.error)
        if error is not None:
            self._leave_because_of(error, now_ms)

    # ------------------------------------------------------------------------------------- errors

    def _react(self, step: RoundStep, code: ErrorCode, now_ms: int) -> None:
        reaction = reaction_to(step, code)
        if reaction is ErrorReaction.END:
            error = refusal(code, self.description, self._settings)
            explained = explained_refusal(error, _APIS[step], self.description, self._coordinator.principal)
            self._refuse(explained, now_ms)
        elif reaction in (ErrorReaction.LOSE_ID, ErrorReaction.LOSE_TASKS):
            self._log.fenced(self.epoch, code.name)
            self.member_id = self.member_id if reaction is ErrorReaction.LOSE_TASKS else ""
            self._round.failed(now_ms)
            self._fence(now_ms)
        else:
            self._try_again(step, reaction, now_ms)

    def _try_again(self, step: RoundStep, reaction: ErrorReaction, now_ms: int) -> None:
        if reaction in (ErrorReaction.FIND, ErrorReaction.FIND_AND_JOIN):
            self._coordinator.mark_unknown()
        if reaction is ErrorReaction.JOIN and step is RoundStep.HEARTBEAT:
            self._rebalance(now_ms)
        elif step is RoundStep.HEARTBEAT:
            self._session.failed(now_ms)
        else:
            if reaction is not ErrorReaction.JOIN:
                self._round.failed(now_ms)
            if step is RoundStep.SYNC:
                self._begin_round()

    def _rebalance(self, now_ms: int) -> None:
        """Join the round that the coordinator has begun."""
        # There are four cases. A member that waits for its assignment hears the same from SyncGroup, and one whose
        # JoinGroup is held back is about to join.
        if self.state in (MembershipState.SYNCING, MembershipState.JOINING):
            return
        self._follow_ups.want("the coordinator asks for it")
        # One that still has to close tasks joins when it has closed them. A leader stops computing.
        if self.state is MembershipState.RECONCILING:
            self._asked_ms = now_ms if self._asked_ms is None else self._asked_ms
        else:
            self._begin_round()

    def _begin_round(self) -> None:
        self._handle(ClassicMembershipEvent.REBALANCE)
        self._round.again()
        self.to_lead = None

    def _fence(self, now_ms: int) -> None:
        self._handle(ClassicMembershipEvent.FENCED)
        self._lose_tasks(now_ms)
        if not self._tasks.awaits_confirmation:
            self._rejoin("it has lost its tasks")

    def _rejoin(self, reason: str) -> None:
        self._handle(ClassicMembershipEvent.REJOIN)
        self._follow_ups.want(reason)

    def _refuse(self, error: KafkaGroupsError, now_ms: int) -> None:
        self._errors.report_fatal(error)
        self._handle(ClassicMembershipEvent.REFUSED)
        self.member_id = ""
        self._lose_tasks(now_ms)

    def _leave_because_of(self, error: KafkaGroupsError, now_ms: int) -> None:
        """Leave the group, also as a static member, and end with an error: others need not wait for the session."""
        self._parting_error = error
        self._depart("an error has ended it")
        self._handle(ClassicMembershipEvent.LEAVE)
        self._lose_tasks(now_ms)

    def _lose_tasks(self, now_ms: int) -> None:
        self._reconciliation.lose()
        self.sensors.rebalances.lost(now_ms)
        self._end_life()

    def _end_life(self) -> None:
        """Forget the round and the generation, whose answers mean nothing any more."""
        self.life += 1
        self.epoch = 0
        self.to_lead = self._asked_ms = None
        self.round_sensors.is_leader, self.round_sensors.partitions = False, 0
        self._round.forget()

    def _handle(self, event: ClassicMembershipEvent) -> None:
        before, self.state = self.state, next_member_state(TRANSITIONS, self.state, event)
        if self.state is MembershipState.JOINING and before is not self.state:
            self._subscribed.joining()
        # As in Java (TaskManager.handleRebalanceComplete): in the next round, another worker may be the first to join.
        if self.state not in _IN_ROUND:
            self._surroundings.dormant.release()
