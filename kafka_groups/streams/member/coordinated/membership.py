"""The protocol of a member of a streams group: joining, heartbeats, reconciling tasks, leaving (KIP-1071)."""

from collections.abc import Callable, Mapping

from attrs import evolve

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.features import if_switched_off
from kafka_groups.client.membership.transitions import next_member_state
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import KafkaGroupsError, UnsupportedVersionError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatStatus,
)
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.coordinated.heartbeat import (
    MemberHeartbeats,
    SentHeartbeat,
    assigned_tasks,
    with_tasks,
)
from kafka_groups.streams.member.coordinated.known_group import KnownGroup
from kafka_groups.streams.member.coordinated.member_refusals import with_remedy
from kafka_groups.streams.member.coordinated.pace import HeartbeatPace
from kafka_groups.streams.member.coordinated.task_offsets import FIRST_WITH_TASK_OFFSETS, TaskOffsetReporter
from kafka_groups.streams.member.coordinated.transitions import TRANSITIONS, MembershipEvent
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.inbox import ApplicationCalls
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StatusesChanged,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks
from kafka_groups.streams.member.rules.membership_log import MembershipLog
from kafka_groups.streams.member.rules.missing_rights import explained_refusal
from kafka_groups.streams.member.rules.owned_tasks import ConfirmationReminder, TaskOwnership
from kafka_groups.streams.member.rules.owning_member import OwningMember
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState
from kafka_groups.streams.member.rules.streams_sensors import StreamsSensors

__all__ = ["StreamsMembership"]

# How long a member expects more tasks after it has confirmed some: a task that another member gives up at the same time
# is handed over in one of the next responses.
_SETTLING_MS = 2_000
_FIRST_EPOCH_OF_ANOTHER_LIFE = 2
"""The coordinator increases the group's epoch when it removes a member and when a member joins. So a member that it has
removed in the meantime comes back with an epoch that is higher by two or more, and only then others have had its tasks.
An epoch that is higher by one has been missed with a lost response."""
_WITH_HEARTBEATS = IN_GROUP | {MembershipState.STALE, MembershipState.LEAVING}


class StreamsMembership(OwningMember):
    """The request manager that sends StreamsGroupHeartbeat.

    Args:
        heartbeats: What the member sends.
        coordinator: Finds the broker to send heartbeats to.
        errors: Receives errors and events for the log.
        pace: Decides when to heartbeat.
        offsets: Decides what heartbeats say about the offsets of tasks.
        timeout_ms: How long to wait for a response (`request.timeout.ms`).

    Attributes:
        heartbeats: What the member sends.
        description: What the member tells its group about itself.
        member_id: Its id, which it keeps even after it was fenced.
        state: The member's state.
        epoch: Its epoch; commits are fenced by it.
        group: What the member knows about its group: statuses and endpoints.
        calls: Checks whether the application polls often enough.
        unconfirmed_since: Since when the application has events that it has not confirmed.
        life: How often the member has lost its tasks, or left. What it did before then may be outdated.
        heard: How many heartbeats the coordinator has accepted.
        sensors: Counts and times for the metrics.
    """

    def __init__(
        self,
        heartbeats: MemberHeartbeats,
        *,
        coordinator: CoordinatorManager,
        errors: BackgroundErrors,
        pace: HeartbeatPace,
        offsets: TaskOffsetReporter,
        timeout_ms: int,
    ) -> None:
        self.heartbeats = heartbeats
        self.description = heartbeats.description
        self.member_id = heartbeats.member_id
        self._coordinator = coordinator
        self._errors = errors
        self._log = MembershipLog(errors.events, f"{self.description.group_id}/{self.member_id}")
        self._pace = pace
        self._offsets = offsets
        self._timeout_ms = timeout_ms
        self._tasks = TaskOwnership()
        self._full = True
        self._answer_lost = self._unanswered = False
        self._shutdown = False
        self._may_be_member = False
        self._leave_epoch = LEAVE_GROUP_EPOCH
        self._settling_until_ms = 0
        self.unconfirmed_since = ConfirmationReminder()
        self.calls = ApplicationCalls(self.description.rebalance_timeout_ms)
        self.state = MembershipState.UNJOINED
        self.epoch = JOIN_GROUP_EPOCH
        self.life = self.heard = 0
        self.sensors = StreamsSensors()
        self.group = KnownGroup()

    def __repr__(self) -> str:
        member = f"{self.description.group_id}/{self.member_id}"
        return f"<StreamsMembership {member} {self.state.value} epoch {self.epoch}>"

    @property
    def statuses(self) -> tuple[StreamsGroupHeartbeatStatus, ...]:
        """The reasons why the group does not work; empty if it works."""
        return self.group.statuses

    @property
    def endpoints(self) -> Mapping[UserEndpoint, EndpointPartitions]:
        """The partitions by the endpoints that answer interactive queries for them."""
        return self.group.endpoints

    @property
    def knows_epoch(self) -> bool:
        """True if offsets can be committed with its epoch. It is not while it joins with its tasks."""
        return self.state is not MembershipState.JOINING

    @property
    def has_gate(self) -> bool:
        """False: the coordinator takes offsets of owned tasks at any time."""
        return False

    def hold(self) -> bool:
        """Return True: a commit may begin."""
        return True

    def release(self) -> None:
        """Do nothing: no commit holds the member."""

    @property
    def has_left(self) -> bool:
        """True if the member is not in the group and has no heartbeat in flight."""
        return self.state is MembershipState.UNJOINED and not self._pace.in_flight

    # ------------------------------------------------------------------ what the application does

    def join(self, now_ms: int) -> None:
        """Join the group.

        Raises:
            IllegalStateError: The member has joined already.
        """
        self._handle(MembershipEvent.JOIN)
        self._coordinator.wanted = True
        # max.poll.interval.ms counts from here, so an application that joins and never polls does not keep its tasks.
        self.calls.called(now_ms)
        self._start_over()

    def leave(self, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT) -> None:
        """Leave the group. Commit and close the tasks first: they are given up at once, without an event."""
        self._prepare_leaving(operation)
        self._handle(MembershipEvent.LEAVE)
        # Java's StreamsMembershipManager.leaveGroup(boolean) calls the application back before it leaves, unless the
        # consumer is being closed. This method exists for closing only, so the tasks are the application's affair.
        self._tasks.drop()
        self.life += 1
        # There is nobody to tell: no heartbeat was ever sent, the coordinator has removed the member already, or the
        # member stays on purpose (REMAIN_IN_GROUP).
        if self.state is MembershipState.LEAVING and not self._may_be_member:
            self._handle(MembershipEvent.LEFT)

    def _prepare_leaving(self, operation: GroupMembershipOperation) -> None:
        epoch = self.heartbeats.leave_epoch(operation)
        if epoch is None:
            self._may_be_member = False  # as far as this process is concerned: nothing will be sent
        else:
            self._leave_epoch = epoch
        self._pace.now()

    def give_up_leaving(self) -> None:
        """Stop trying to notify the coordinator. It removes the member when its session times out."""
        # Java gives up as soon as no coordinator is known (StreamsMembershipManager.onHeartbeatRequestSkipped). Here
        # the caller's timeout decides, since a coordinator that has just moved is often found again in time.
        if self.state is MembershipState.LEAVING:
            self._handle(MembershipEvent.LEFT)
            self._log.not_told()
        self._pace.dropped()

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down. The next heartbeat says so."""
        # KIP-1071, "Joining, leaving and staying in a Streams group", has the flag in the heartbeat that leaves. Kafka
        # takes it from any heartbeat (GroupMetadataManager.streamsGroupHeartbeat), and Java sets it in ordinary ones.
        self._shutdown = True
        self._pace.now()

    def ask_again(self) -> int:
        """Heartbeat as soon as possible. Return how many will have been accepted when this one is."""
        self._pace.now()
        # A heartbeat that is in flight was sent before this call, so its response may not know what the caller wants to
        # hear of. It does not count.
        return self.heard + (2 if self._pace.in_flight else 1)

    def application_called(self, now_ms: int) -> None:
        """Note that the application is alive, which restarts `max.poll.interval.ms`. A stale member rejoins."""
        self.calls.called(now_ms)
        # As in Java's StreamsMembershipManager.maybeRejoinStaleMember, the member rejoins when the application is back
        # and has released the old tasks, whichever is later.
        if self.state is MembershipState.STALE and not self._tasks.awaits_confirmation:
            self._rejoin()

    def confirm(self, event: TasksRevoked | TasksLost, now_ms: int) -> None:
        """Note that the application has closed the tasks of an event. A second time, nothing happens."""
        if not self._tasks.confirm(event):
            return
        self._log.closed(event)
        # One event is still open. The coordinator hears of a step as a whole, and a member that is out of its group
        # must not get tasks that this process may still be writing to.
        if self._tasks.awaits_confirmation:
            return
        # There are two cases. A fenced member rejoins only now that its old tasks are closed
        # (StreamsMembershipManager.onFenced in Java). A reconciling one goes on towards its target, and its next
        # heartbeat tells the coordinator that the revoked tasks are free: KIP-1071, "Reconciliation of the group". A
        # stale member waits for the application's next call instead.
        if self.state is MembershipState.FENCED:
            self._rejoin()
        elif self.state is MembershipState.RECONCILING:
            self._tasks.advance(self.epoch)
            self._follow(now_ms)

    def take_events(self) -> tuple[StreamsMembershipEvent, ...]:
        """Remove and return the events for the application, on its thread."""
        events = self._tasks.inbox.take()
        for event in events:
            self._log.told(event)
        return events

    # ------------------------------------------------------------------------------ the heartbeat

    def poll(self, now_ms: int) -> PollResult:
        """Return a heartbeat if one is due, the coordinator is known and none is in flight."""
        self._remind(now_ms)
        result = self._next_heartbeat(now_ms)
        return evolve(result, wait_ms=min(result.wait_ms, self.unconfirmed_since.remaining_ms(now_ms)))

    def _remind(self, now_ms: int) -> None:
        """Remind the program of events that it has not confirmed: without that, the member would wait silently."""
        reminder = self.unconfirmed_since
        awaits = self._tasks.awaits_confirmation and self.state is not MembershipState.FATAL
        if reminder.is_due(now_ms, awaits_confirmation=awaits):
            waited_ms = now_ms - (reminder.since_ms or 0)
            self._log.unconfirmed(self.unconfirmed, self.state, waited_ms)

    def _next_heartbeat(self, now_ms: int) -> PollResult:
        if self.state not in _WITH_HEARTBEATS or self._pace.in_flight:
            return PollResult()
        # Before the heartbeat is built, so that an application that stayed away gets the heartbeat that leaves, as in
        # StreamsGroupHeartbeatRequestManager.poll in Java.
        self._check_calls(now_ms)
        # A stale member has one heartbeat to send, the one that leaves. When that was answered, it stays silent until
        # the application's next call.
        stays_out = self.state is MembershipState.STALE and not self._may_be_member
        if self._coordinator.node_id is None or stays_out:
            return PollResult(wait_ms=self._until_overdue(now_ms))
        if (wait_ms := self._pace.remaining_ms(now_ms)) > 0:
            return PollResult(wait_ms=min(wait_ms, self._until_overdue(now_ms)))
        return PollResult((self._outgoing(self._heartbeat(now_ms), now_ms),))

    def _until_overdue(self, now_ms: int) -> int:
        return self.calls.remaining_ms(now_ms) if self.state in IN_GROUP else NEVER_MS

    def _check_calls(self, now_ms: int) -> None:
        # Heartbeats come from a thread or loop of their own and prove nothing about the application. Its calls do, and
        # a member whose application hangs must not block the tasks (StreamsMembershipManager.onPollTimerExpired in
        # Java).
        if self._until_overdue(now_ms) > 0:
            return
        self._log.overdue(self.calls.limit_ms)
        self._step_out(now_ms)

    def _step_out(self, now_ms: int) -> None:
        """Leave, to rejoin when the application comes back."""
        self._handle(MembershipEvent.OVERDUE)
        # The member did not choose to leave, so a static one leaves with epoch -2, which keeps its tasks reserved for
        # its return (StreamsMembershipManager.leaveGroupEpoch in Java).
        self._prepare_leaving(GroupMembershipOperation.DEFAULT)
        self._lose_tasks(now_ms)

    def _heartbeat(self, now_ms: int) -> SentHeartbeat:
        heartbeats, owned = self.heartbeats, self.owned
        # There are three kinds of heartbeats. One that leaves says who leaves, and that all others are to shut down
        # if no other heartbeat has said so: Kafka reads it there, too (GroupMetadataManager.streamsGroupLeave).
        if self.state not in IN_GROUP:
            leaving = evolve(heartbeats.brief(self._leave_epoch), shutdown_application=self._shutdown)
            return SentHeartbeat(leaving, owned)
        report = self._offsets.report(owned, now_ms)
        # One that joins has the topology, the description and three empty lists of tasks: KIP-1071, "Request
        # Validation".
        if self.state is MembershipState.JOINING:
            return SentHeartbeat(self._with_news(heartbeats.joining()), owned, offsets=report)
        # All others leave out what has not changed, unless an error occurred before: KIP-1071, "Joining, leaving and
        # staying in a Streams group". Tasks are listed until the coordinator has answered a heartbeat with them. Java
        # counts them as known when it sends them, and lists them again after an error; of the rest it repeats nothing,
        # not even then (StreamsGroupHeartbeatRequestManager.HeartbeatState.buildRequestData).
        request = heartbeats.full(self.epoch) if self._full else heartbeats.brief(self.epoch)
        lists_tasks = self._full or not self._tasks.is_told
        request = with_tasks(request, owned) if lists_tasks else request
        return SentHeartbeat(self._with_news(request), owned, lists_tasks=lists_tasks, offsets=report)

    def _with_news(self, request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatRequest:
        return evolve(
            request, endpoint_information_epoch=self.group.endpoints_epoch, shutdown_application=self._shutdown
        )

    def _outgoing(self, sent: SentHeartbeat, now_ms: int) -> OutgoingRequest:
        # From here on the coordinator may know the member, whether or not the response arrives.
        self._may_be_member = True
        self._pace.sent(now_ms)
        self.sensors.member.sent_ms = now_ms
        return OutgoingRequest(
            ApiKey.STREAMS_GROUP_HEARTBEAT,
            sent.build,
            node_id=self._coordinator.node_id,
            timeout_ms=self._timeout_ms,
            context=sent,
        )

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Apply the coordinator's response, or react to the error."""
        sent: SentHeartbeat = request.context
        response: StreamsGroupHeartbeatResponse = answer.message
        self.sensors.member.answered(answer.latency_ms, now_ms)
        # There are four cases. The response to the heartbeat that leaves ends the membership even if it is an error: a
        # member that the coordinator does not know has left as well (StreamsMembershipManager.onHeartbeatFailure in
        # Java).
        if sent.leaves:
            self._left(sent)
        elif self.state not in IN_GROUP or (self.state is MembershipState.JOINING and not sent.joins):
            self._pace.dropped()  # it has left, become stale or rejoined since: the response is outdated
        # A success moves the member on, and an error is looked up in the table at the end of this module, which follows
        # StreamsGroupHeartbeatRequestManager.onErrorResponse in Java.
        elif response.error_code is ErrorCode.NONE:
            self._accepted(sent, answer, now_ms)
        else:
            _REACTIONS.get(response.error_code, StreamsMembership._refused)(self, response, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Look the coordinator up again, and retry. If the broker has no streams groups, the error ends the client."""
        # The cluster is older than Kafka 4.2 or runs without streams groups, which no retry changes
        # (StreamsGroupHeartbeatRequestManager.onFailure in Java). A member that is leaving has nothing to lose: it
        # retries until its time is up.
        if isinstance(error, UnsupportedVersionError) and self.state in IN_GROUP:
            self._refuse(error, now_ms)
            return
        # Java retries after retriable exceptions only, and all others are fatal. A member here outlives them: a broker
        # that is replaced or a proxy that answers nonsense must not end the application.
        self._unanswered = True
        self._lose_coordinator()
        self._pace.failed(now_ms)

    def _lose_coordinator(self) -> None:
        """Look the coordinator up again. The old one may have changed the member's tasks before it was gone."""
        self._answer_lost = True
        self._coordinator.mark_unknown()
        self._again_in_full()

    # -------------------------------------------------------------------------- what answers bring

    def _accepted(self, sent: SentHeartbeat, answer: ClientResponse, now_ms: int) -> None:
        response: StreamsGroupHeartbeatResponse = answer.message
        self._pace.answered(response.heartbeat_interval_ms, response.throttle_time_ms, now_ms)
        # Coordinators that have version 0 only refuse task offsets, so their interval and their lag ask for nothing.
        if answer.version >= FIRST_WITH_TASK_OFFSETS:
            self._offsets.accepted(sent.offsets, sent.owned, response, now_ms)
        # Only a member that rejoined after a lost response still owns tasks here. They are lost if others may have had
        # them.
        if sent.joins and self.owned and not self._has_kept_its_tasks(response.member_epoch):
            self._log.outdated(self.epoch, response.member_epoch)
            self._lose_tasks(now_ms)
        self._note_heard(sent, response)
        self._handle(MembershipEvent.ACCEPTED)
        if self.group.take(response):
            self._tasks.tell(StatusesChanged(self.group.statuses))
        assigned = assigned_tasks(response)
        # No lists mean "unchanged": KIP-1071, "Reponse Schema".
        if assigned is not None:
            # A list has all tasks of the member, so it makes up for any response that was lost before.
            self._tasks.target, self._answer_lost, self._unanswered = assigned, False, False
            if assigned != self.owned:
                self.sensors.rebalances.begun(now_ms)
            # Before the step towards the target, because it compares with what the member owns now.
            self._list_again_if_unchanged(sent, assigned, now_ms)
        self._tasks.advance(self.epoch, lost=sent.joins)
        self._follow(now_ms)
        # A reconciling or acknowledging member waits with this. Its next heartbeat lists its tasks, and the answer
        # often has the tasks that the member missed, so that it need not rejoin.
        if self._answer_lost and self.state is MembershipState.STABLE:
            self._resynchronize(sent, response, now_ms)
        elif self._expects_tasks(now_ms):
            self._pace.hurry(self.epoch, now_ms)

    def _list_again_if_unchanged(self, sent: SentHeartbeat, assigned: MemberTasks, now_ms: int) -> None:
        """Say which tasks the member owns if the coordinator sends exactly these, unasked.

        Then it had given the member others, in a response that never came, and waits until these are given up. It would
        remove the member when its rebalance timeout is over.
        """
        # A member that joins, or that has just listed its tasks, receives its assignment as a matter of course. Kafka
        # sends it to others only when it has changed (GroupMetadataManager.streamsGroupHeartbeat), so a list without
        # news means that it had changed before as well.
        if assigned == self.owned and not (sent.joins or sent.lists_tasks):
            self._full = True
            self._pace.confirm(now_ms)

    def _has_kept_its_tasks(self, epoch: int) -> bool:
        """Return whether nobody else can have had the tasks of a member that joins again, so that its stores are good.

        It may have been paused before it joined again, and removed. A group that was deleted counts from the start.
        """
        # See the constant. An epoch that is lower than before is that of a new group of the same name.
        return self.epoch <= epoch < self.epoch + _FIRST_EPOCH_OF_ANOTHER_LIFE

    def _note_heard(self, sent: SentHeartbeat, response: StreamsGroupHeartbeatResponse) -> None:
        """Note what the coordinator knows now."""
        # Joining brings the whole assignment, so no lost response matters any more. A member that joins is without
        # tasks for the coordinator, even if it kept some from before.
        if sent.joins:
            self._log.joined(response.member_epoch)
            self._answer_lost = self._unanswered = False
            self._tasks.told(NO_TASKS)
        elif sent.lists_tasks:
            self._tasks.told(sent.owned)
        # The request is sent until a heartbeat with it was accepted. The coordinator keeps it until the group is empty,
        # so Java's repetition in every further heartbeat is not needed.
        self._shutdown = self._shutdown and not sent.request.shutdown_application
        self._full = False
        self.epoch = response.member_epoch
        self.heard += 1

    def _follow(self, now_ms: int) -> None:
        """Bring the state in line with the tasks, and confirm what the coordinator does not know yet."""
        if not self._tasks.awaits_confirmation:
            self.sensors.rebalanced(now_ms)
        # There are three cases. The application has to close tasks first: nothing is confirmed before that.
        if self._tasks.awaits_confirmation:
            if self.state is not MembershipState.RECONCILING:
                self._handle(MembershipEvent.REVOKE)
        # The member owns what it was assigned, and the coordinator has to hear of it at once: others may wait for what
        # was given up (KIP-1071, "Reconciliation of the group"). A member that has reconciled always says so, even if
        # it owns what the coordinator knew before: the coordinator had asked for tasks, and waits for a list.
        elif not self._tasks.is_told or self.state is MembershipState.RECONCILING:
            if self.state is not MembershipState.ACKNOWLEDGING:
                self._handle(MembershipEvent.OWN)
            self._settling_until_ms = now_ms + _SETTLING_MS
            self._pace.confirm(now_ms)
        # The coordinator has answered a heartbeat that listed these tasks.
        elif self.state is MembershipState.ACKNOWLEDGING:
            self._handle(MembershipEvent.ACKNOWLEDGED)

    def _expects_tasks(self, now_ms: int) -> bool:
        """Return whether the next heartbeat may bring tasks, such as those that others have to give up first."""
        # There are two cases in which no heartbeat brings tasks sooner: the application has to close some first, or the
        # group shuts down or is not ready for want of source topics, and only somebody outside the group can help
        # (KIP-1071, "Handling topic topology mismatches").
        if self.state is MembershipState.RECONCILING or self.group.is_blocked:
            return False
        # The coordinator assigns a task as soon as its old owner has confirmed: KIP-1071, "Reconciliation of the
        # group". It tells the new owner only in a response, and a member that waits for its interval would leave the
        # task idle for up to five seconds (Kafka's default).
        return self.group.is_assigning or not self.owned or now_ms < self._settling_until_ms

    def _resynchronize(self, sent: SentHeartbeat, response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        """Ask for all tasks, because the lost response may have contained some.

        The coordinator sends unchanged tasks only to members that join. A static member may not join while it is in the
        group: it leaves for a while if a response was lost, or if the epoch shows that it has missed something.
        """
        # Java does not rejoin, and its next heartbeat lists its tasks. But Kafka sends tasks only to members that join,
        # and to those whose tasks change with this very heartbeat (GroupMetadataManager.streamsGroupHeartbeat), so the
        # tasks of the lost response could stay idle. A dynamic member may join at any time.
        if self.description.instance_id is None:
            self._handle(MembershipEvent.RESYNCHRONIZE)
            self._start_over()
            return
        # A static member that joins while its instance id is in use gets UNRELEASED_INSTANCE_ID
        # (GroupMetadataManager.throwIfInstanceIdIsUnreleased). Leaving costs it its tasks for a moment, so it leaves
        # only on evidence: if every response arrived, errors included, an unchanged epoch is enough to go on.
        may_have_missed = self._unanswered or response.member_epoch != sent.request.member_epoch
        self._answer_lost = self._unanswered = False
        if may_have_missed:
            self._log.missed_tasks()
            self._step_out(now_ms)

    def _left(self, sent: SentHeartbeat) -> None:
        self._pace.dropped()
        if sent.request.member_epoch != self._leave_epoch:
            return  # since then the application has decided to leave in another way
        self._may_be_member = False
        if self.state is MembershipState.LEAVING:
            self._handle(MembershipEvent.LEFT)
            self._log.left()

    # ------------------------------------------------------------------------------------- errors

    def _rediscover(self, _response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        # As in Java, there is no back-off before the coordinator is looked up: it has only moved. If the next one
        # refuses as well, the back-off applies, which Java does without.
        self._lose_coordinator()
        self._pace.again(now_ms)

    def _retry(self, _response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        # The coordinator is the right one, and is still reading its partition of __consumer_offsets. Looking it up
        # again would find the same broker.
        self._again_in_full()
        self._pace.failed(now_ms)

    def _report(self, response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        # The one refusal that does not end the member, as in Java: somebody may grant DESCRIBE on the topics while the
        # application runs.
        self._errors.report(self._explained(error_for(response.error_code, response.error_message)))
        self._retry(response, now_ms)

    def _fenced(self, response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        self._log.fenced(self.epoch, response.error_code.name)
        self._handle(MembershipEvent.FENCED)
        # If the application leaves now, nothing is sent, as in Java (StreamsMembershipManager.leaveGroup): the
        # coordinator has removed the member.
        self._may_be_member = False
        self._lose_tasks(now_ms)
        self._pace.again(now_ms)
        # With tasks to close, `confirm` rejoins when the application has closed them. Without any, there is nothing to
        # wait for.
        if not self._tasks.awaits_confirmation:
            self._rejoin()

    def _unreleased(self, response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        """Wait until the old session of the static member expires, as it does after a crash."""
        # A member that joins a classic group with a known instance id replaces the old one at once: KIP-345, "Join
        # Group Logic Change". In a streams group it replaces only a member that has left with epoch -2
        # (GroupMetadataManager.throwIfInstanceIdIsUnreleased). Java ends here. After a crash there is no -2, and
        # waiting for the old session to expire restarts the application without anybody's help.
        wait_ms = self._pace.awaits_release(now_ms)
        if wait_ms is None:
            self._refused(response, now_ms)
            return
        self._again_in_full()
        self._log.unreleased(self.description.instance_id, wait_ms)

    def _refused(self, response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        told = self._explained(error_for(response.error_code, response.error_message))
        error = with_remedy(told, self.description.group_id)
        self._refuse(if_switched_off(ApiKey.STREAMS_GROUP_HEARTBEAT, error), now_ms)

    def _explained(self, error: KafkaGroupsError) -> KafkaGroupsError:
        return explained_refusal(error, ApiKey.STREAMS_GROUP_HEARTBEAT, self.description, self._coordinator.principal)

    def _refuse(self, error: KafkaGroupsError, now_ms: int) -> None:
        self._errors.report_fatal(error)
        self._handle(MembershipEvent.REFUSED)
        # Java reports all tasks as lost here as well (StreamsMembershipManager.transitionToFatal): the tasks go to
        # others when the session ends, so the application must not keep processing them.
        self._lose_tasks(now_ms)
        self._may_be_member = False
        self._pace.dropped()

    def _rejoin(self) -> None:
        self._handle(MembershipEvent.REJOIN)
        self._start_over()

    def _lose_tasks(self, now_ms: int) -> None:
        self._tasks.lose()
        self.sensors.rebalances.lost(now_ms)
        self.life += 1
        # Commits fail from here on, and do not carry an epoch that another owner may have superseded.
        self.epoch = JOIN_GROUP_EPOCH

    def _start_over(self) -> None:
        self._again_in_full()
        self._pace.now()

    def _again_in_full(self) -> None:
        """Send a complete heartbeat next, because it is uncertain what the coordinator knows."""
        # Java does the same after each error (StreamsGroupHeartbeatRequestManager.HeartbeatState.reset), but keeps the
        # epoch of the endpoints. A new coordinator counts from the start, and may get to the same number with other
        # endpoints.
        self._full = True
        self._offsets.forget()
        self.group.forget_epoch()

    def _handle(self, event: MembershipEvent) -> None:
        self.state = next_member_state(TRANSITIONS, self.state, event)


_REACTIONS: Mapping[ErrorCode, Callable[[StreamsMembership, StreamsGroupHeartbeatResponse, int], None]] = {
    ErrorCode.NOT_COORDINATOR: StreamsMembership._rediscover,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: StreamsMembership._rediscover,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: StreamsMembership._retry,
    ErrorCode.UNKNOWN_MEMBER_ID: StreamsMembership._fenced,
    ErrorCode.FENCED_MEMBER_EPOCH: StreamsMembership._fenced,
    ErrorCode.UNRELEASED_INSTANCE_ID: StreamsMembership._unreleased,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: StreamsMembership._report,
}
"""The member's reaction to each error. All others are fatal, as in Kafka's own client, where
UNRELEASED_INSTANCE_ID is fatal, too."""
