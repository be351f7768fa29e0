"""A member of a share group: it joins, heartbeats, follows its assignment and leaves.

KIP-932, "Share group membership".
"""

from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from kafka_groups.acls import AclOperation
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.events import Area
from kafka_groups.client.features import if_switched_off
from kafka_groups.client.membership.heartbeat import HeartbeatTimer
from kafka_groups.client.membership.member_sensors import MemberSensors
from kafka_groups.client.membership.transitions import next_member_state
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, PollResult
from kafka_groups.client.rights import explained
from kafka_groups.errors import GroupAuthorizationFailedError, KafkaGroupsError, UnsupportedVersionError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_group_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafka_groups.share.membership.states import TRANSITIONS, MemberEvent, MemberState
from kafka_groups.types import TopicIdPartition

__all__ = ["ShareMembership"]


@frozen
class MemberIdentity:
    """The member's group, id, rack and user, if it knows that. The member keeps its id even after it was fenced."""

    group_id: str
    member_id: str
    rack_id: str | None = None
    principal: str | None = None


class ShareMembership:
    """The request manager that sends ShareGroupHeartbeat.

    An assignment takes effect immediately: members need not agree, because several may have the same share-partition.

    Args:
        identity: The member's group, id and rack.
        coordinator: Finds the broker to send heartbeats to.
        errors: Receives errors and events.
        timer: Decides when to heartbeat.
        timeout_ms: How long to wait for a response (`request.timeout.ms`).
        max_poll_interval_ms: The member leaves if the application does not poll for this long.
    """

    def __init__(
        self,
        identity: MemberIdentity,
        *,
        coordinator: CoordinatorManager,
        errors: BackgroundErrors,
        timer: HeartbeatTimer,
        timeout_ms: int,
        max_poll_interval_ms: int,
    ) -> None:
        self.identity = identity
        self._coordinator = coordinator
        self._errors = errors
        self._events = errors.events
        self._timer = timer
        self._timeout_ms = timeout_ms
        self._max_poll_interval_ms = max_poll_interval_ms
        self._topics: frozenset[str] = frozenset()
        self._topics_to_send = False
        self._poll_deadline_ms: int | None = None
        self._may_be_member = False
        self.state = MemberState.UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        self.assignment: frozenset[TopicIdPartition] = frozenset()
        self.sensors = MemberSensors()

    def __repr__(self) -> str:
        member = f"{self.identity.group_id}/{self.identity.member_id}"
        return f"<ShareMembership {member} {self.state.value} epoch {self.epoch}>"

    @property
    def has_left(self) -> bool:
        """True if the member is not in the group and has no heartbeat in flight."""
        return self.state is MemberState.UNSUBSCRIBED and not self._timer.in_flight

    # ------------------------------------------------------------------ what the application does

    def subscribe(self, topics: Iterable[str]) -> None:
        """Join with these topics, or change the subscription to them."""
        wanted = frozenset(topics)
        # Topics are sent when they changed, or when the member joins (ShareHeartbeatRequestManager.HeartbeatState in
        # Kafka).
        if wanted != self._topics or self.state in (MemberState.UNSUBSCRIBED, MemberState.LEAVING):
            self._topics = wanted
            self._topics_to_send = True
            self._timer.now()
        self._handle(MemberEvent.SUBSCRIBE)
        self._coordinator.wanted = True

    def leave(self) -> None:
        """Leave the group. If the member ever joined, the next turn sends a heartbeat with epoch -1."""
        self._handle(MemberEvent.LEAVE)
        self._drop_assignment()
        self._timer.now()
        # The coordinator cannot know the member: it never joined, has left or was fenced. There is nothing to leave.
        if self.state is MemberState.LEAVING and not self._may_be_member and not self._timer.in_flight:
            self._handle(MemberEvent.LEFT)

    def give_up_leaving(self) -> None:
        """Stop trying to notify the coordinator. It removes the member when its session times out."""
        # KIP-932, "Heartbeat and session": without heartbeats the coordinator removes the member by itself.
        if self.state is MemberState.LEAVING:
            self._handle(MemberEvent.LEFT)
            self._events.warn(
                Area.GROUP,
                "not told",
                f"Could not notify the coordinator that member {self.identity.member_id} is leaving the share group"
                f" {self.identity.group_id}. It will remove the member when its session times out.",
            )
        self._timer.dropped()

    def application_polled(self, now_ms: int) -> None:
        """Note that the application polled, which restarts `max.poll.interval.ms`."""
        self._poll_deadline_ms = now_ms + self._max_poll_interval_ms
        # The application polls again, so the member joins again, with the same member id, as in Kafka's client
        # (AbstractMembershipManager.maybeRejoinStaleMember).
        if self.state is MemberState.STALE and self._topics:
            self._handle(MemberEvent.POLLED)
            self._topics_to_send = True
            self._timer.now()

    # ------------------------------------------------------------------------------ the heartbeat

    def poll(self, now_ms: int) -> PollResult:
        """Return a heartbeat if one is due, the coordinator is known and none is in flight."""
        if self.state in (MemberState.UNSUBSCRIBED, MemberState.FATAL) or self._timer.in_flight:
            return PollResult()
        self._check_poll_interval(now_ms)
        # Two reasons to send nothing: the coordinator is unknown and being looked up, or a stale member has left
        # already and waits for the application.
        if self._coordinator.node_id is None or (self.state is MemberState.STALE and self.epoch == LEAVE_EPOCH):
            return PollResult(wait_ms=self._until_poll_deadline(now_ms))
        wait_ms = self._timer.remaining_ms(now_ms)
        if wait_ms > 0:
            return PollResult(wait_ms=min(wait_ms, self._until_poll_deadline(now_ms)))
        return PollResult((self._heartbeat(now_ms),))

    def _check_poll_interval(self, now_ms: int) -> None:
        # The application may hang while heartbeats go on from another thread or task. So the poll interval is watched
        # here, as in Kafka's client (AbstractHeartbeatRequestManager.poll,
        # AbstractMembershipManager.transitionToStale).
        if self._until_poll_deadline(now_ms) > 0:
            return
        if self.state is not MemberState.STALE:
            self._events.warn(Area.GROUP, "poll overdue", self._overdue)
        self._handle(MemberEvent.POLL_OVERDUE)
        self._drop_assignment()
        self._timer.now()

    @property
    def _overdue(self) -> str:
        return (
            f"Member {self.identity.member_id} is leaving the share group {self.identity.group_id}: the program did not"
            f" call poll() for {self._max_poll_interval_ms} ms (max.poll.interval.ms). Other members get its records."
            " Poll fewer records at a time (max.poll.records), or raise max.poll.interval.ms."
        )

    def _until_poll_deadline(self, now_ms: int) -> int:
        if self._poll_deadline_ms is None or self.state not in (MemberState.JOINING, MemberState.STABLE):
            return NEVER_MS
        return max(0, self._poll_deadline_ms - now_ms)

    def _heartbeat(self, now_ms: int) -> OutgoingRequest:
        leaving = self.state in (MemberState.LEAVING, MemberState.STALE)
        joining = self.state is MemberState.JOINING
        # Epoch -1 leaves, 0 joins, and any other is the member's current one. Share groups have no epoch -2, because
        # they have no static members (KIP-932, "Static membership").
        epoch = LEAVE_EPOCH if leaving else JOIN_EPOCH if joining else self.epoch
        with_topics = not leaving and (joining or self._topics_to_send)
        request = ShareGroupHeartbeatRequest(
            group_id=self.identity.group_id,
            # The client makes the member id since Kafka 4.1 and sends it from the first heartbeat on; in KIP-932,
            # "Member ID", the coordinator does.
            member_id=self.identity.member_id,
            member_epoch=epoch,
            # The coordinator keeps rack and topics of the last request that had them, so later heartbeats leave them
            # out.
            rack_id=self.identity.rack_id if joining else None,
            subscribed_topic_names=tuple(sorted(self._topics)) if with_topics else None,
        )
        self._topics_to_send = False
        self._may_be_member = self._may_be_member or not leaving
        self._timer.sent(now_ms)
        self.sensors.sent_ms = now_ms
        return OutgoingRequest(
            ApiKey.SHARE_GROUP_HEARTBEAT,
            lambda _version: request,
            node_id=self._coordinator.node_id,
            timeout_ms=self._timeout_ms,
            context=request,
        )

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Store epoch, interval and assignment, or react to the error."""
        response: ShareGroupHeartbeatResponse = answer.message
        sent: ShareGroupHeartbeatRequest = request.context
        self.sensors.answered(answer.latency_ms, now_ms)
        # There are four cases. Leaving is done with any response, also with an error: the member is gone or its session
        # will expire. A success has epoch and assignment. An error concerns a member that still wants to be one. Any
        # other response is out of date, as the member left or became stale while it was on its way.
        if sent.member_epoch == LEAVE_EPOCH:
            self._left()
        elif response.error_code is ErrorCode.NONE:
            self._accepted(sent, response, now_ms)
        elif self.state in (MemberState.JOINING, MemberState.STABLE):
            self._failed(response, now_ms)
        else:
            self._timer.dropped()

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Look the coordinator up again, and send the same epoch again after the back-off.

        If the broker does not support share groups, the error ends the client.
        """
        if isinstance(error, UnsupportedVersionError) and self.state in (MemberState.JOINING, MemberState.STABLE):
            self._refuse(error)
            return
        # The lost response may have had a new assignment, which the coordinator repeats only if the member sends its
        # topics.
        self._topics_to_send = True
        self._coordinator.mark_unknown()
        self._timer.failed(now_ms)

    # -------------------------------------------------------------------------- what answers bring

    def _accepted(self, sent: ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse, now_ms: int) -> None:
        self._timer.answered(response.heartbeat_interval_ms, response.throttle_time_ms, now_ms)
        if self.state not in (MemberState.JOINING, MemberState.STABLE) or self._joins_again(sent):
            self._timer.now()  # it has left, become stale or rejoined since: the response is outdated
            return
        if self.state is MemberState.JOINING:
            identity = self.identity
            joined = f"Member {identity.member_id} joined the share group {identity.group_id}"
            self._events.note(Area.GROUP, f"{joined} with epoch {response.member_epoch}.")
        self._handle(MemberEvent.ACCEPTED)
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self._assign(response.assignment, now_ms)
        # A member without partitions asks again soon: a new share-partition becomes assignable only once its state is
        # initialised, a moment after the first heartbeat.
        if self.assignment:
            self._timer.patient()
        else:
            self._timer.impatient(now_ms)
        if self._topics_to_send:
            # The subscription changed while this heartbeat was in flight.
            self._timer.now()
        else:
            self._topics_to_send = self._may_have_missed_assignment(sent, response)

    @staticmethod
    def _may_have_missed_assignment(sent: ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse) -> bool:
        """Return whether the epoch changed without an assignment.

        Usually the reason is that other members joined or left. But if the coordinator handled a heartbeat twice, the
        assignment was in the lost response. The next heartbeat names the topics, so that the coordinator repeats it.
        """
        return response.assignment is None and response.member_epoch != sent.member_epoch

    def _joins_again(self, sent: ShareGroupHeartbeatRequest) -> bool:
        # The member was fenced or subscribed again while this heartbeat was in flight.
        return self.state is MemberState.JOINING and sent.member_epoch != JOIN_EPOCH

    def _assign(self, assignment: Assignment, now_ms: int) -> None:
        partitions = frozenset(
            TopicIdPartition(topic.topic_id, partition)
            for topic in assignment.topic_partitions
            if topic.topic_id is not None
            for partition in topic.partitions
        )
        # No reconciliation and no callback: in a share group several members may have the same partition, so nothing
        # has to be given up first (KIP-932, "Share group states").
        if partitions != self.assignment:
            self.assignment = partitions
            self.sensors.rebalanced(now_ms)

    def _left(self) -> None:
        self._timer.dropped()
        self._may_be_member = False
        # LEAVE_EPOCH marks a stale member whose leave was answered: it sends nothing until the application polls.
        self.epoch = LEAVE_EPOCH if self.state is MemberState.STALE else JOIN_EPOCH
        if self.state is MemberState.LEAVING:
            self._handle(MemberEvent.LEFT)
            left = f"Member {self.identity.member_id} left the share group {self.identity.group_id}"
            self._events.note(Area.GROUP, f"{left}: it unsubscribed or is being closed.")

    def _failed(self, response: ShareGroupHeartbeatResponse, now_ms: int) -> None:
        reaction = _REACTIONS.get(response.error_code, ShareMembership._refused)
        reaction(self, response, now_ms)

    def _rediscover(self, _response: ShareGroupHeartbeatResponse, now_ms: int) -> None:
        # The group has moved to another coordinator. The heartbeat is repeated without a back-off once that is known,
        # and with the topics: Kafka's client, too, forgets what it has sent
        # (AbstractHeartbeatRequestManager.onErrorResponse and resetHeartbeatState).
        self._coordinator.mark_unknown()
        self._topics_to_send = True
        self._timer.again(now_ms)

    def _fenced(self, response: ShareGroupHeartbeatResponse, now_ms: int) -> None:
        self._events.warn(
            Area.GROUP,
            "fenced",
            f"The coordinator does not know member {self.identity.member_id} with epoch {self.epoch} in the share group"
            f" {self.identity.group_id} ({response.error_code.name}). The member rejoins.",
        )
        # The coordinator removed the member, and its partitions are others' now. It joins again with epoch 0 and its id
        # (AbstractMembershipManager.transitionToFenced). Its share sessions stay: leaders do not ask for membership,
        # and locks of records in hand are still valid (KIP-932, "Heartbeat and session").
        self._handle(MemberEvent.FENCED)
        self.epoch = JOIN_EPOCH
        self._may_be_member = False
        self._drop_assignment()
        self._timer.patient()
        self._timer.again(now_ms)

    def _retry(self, _response: ShareGroupHeartbeatResponse, now_ms: int) -> None:
        self._topics_to_send = True
        self._timer.failed(now_ms)

    def _report(self, response: ShareGroupHeartbeatResponse, now_ms: int) -> None:
        self._errors.report(self._explained(error_for(response.error_code, response.error_message)))
        # Not fatal: somebody may grant the permission, or the application may subscribe to other topics.
        self._retry(response, now_ms)

    def _refused(self, response: ShareGroupHeartbeatResponse, _now_ms: int) -> None:
        error = error_for(response.error_code, response.error_message)
        # A member that has joined knows that the group existed. The text says what that means.
        if response.error_code is ErrorCode.GROUP_ID_NOT_FOUND and self.epoch > JOIN_EPOCH:
            error = error_for(response.error_code, vanished(self.identity.group_id))
        self._refuse(if_switched_off(ApiKey.SHARE_GROUP_HEARTBEAT, self._explained(error)))

    def _explained(self, error: KafkaGroupsError) -> KafkaGroupsError:
        # Brokers do not say which of the topics it is, but all of them must be readable.
        is_of_group = isinstance(error, GroupAuthorizationFailedError)
        names = (self.identity.group_id,) if is_of_group else sorted(self._topics)
        return explained(error, ApiKey.SHARE_GROUP_HEARTBEAT, names, self.identity.principal, AclOperation.READ)

    def _refuse(self, error: KafkaGroupsError) -> None:
        self._errors.report_fatal(error)
        self._handle(MemberEvent.REFUSED)
        self._drop_assignment()
        self._timer.dropped()

    def _drop_assignment(self) -> None:
        self.assignment = frozenset()

    def _handle(self, event: MemberEvent) -> None:
        self.state = next_member_state(TRANSITIONS, self.state, event)


def vanished(group_id: str) -> str:
    """Return the text of the error of a group that a member had joined, and that is not there any more."""
    return (
        f"Share group {group_id!r} does not exist any more, although this member had joined it. Somebody deleted the"
        " group, the brokers came back with empty disks, or bootstrap.servers names two clusters. Its offsets are gone:"
        " a new group begins where share.auto.offset.reset says, by default at the end of its topics. Configure"
        " the group, set its offsets if it has to begin elsewhere, and start the program again."
    )


Reaction = Callable[[ShareMembership, ShareGroupHeartbeatResponse, int], None]

_REACTIONS: Mapping[ErrorCode, Reaction] = {
    ErrorCode.NOT_COORDINATOR: ShareMembership._rediscover,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ShareMembership._rediscover,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ShareMembership._retry,
    ErrorCode.UNKNOWN_MEMBER_ID: ShareMembership._fenced,
    ErrorCode.FENCED_MEMBER_EPOCH: ShareMembership._fenced,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: ShareMembership._report,
}
"""The member's reaction to each error. All other errors are fatal, as in Kafka's own client."""
