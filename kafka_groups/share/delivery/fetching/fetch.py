"""Fetching, acknowledging and renewing: one request manager for all leaders of a share consumer.

The session's epoch counts the requests to a leader, so at most one request to each leader is in flight.
Acknowledgements travel with the next fetch to the leader if one is due, and are sent alone otherwise.
"""

import random
from collections.abc import Sequence
from uuid import UUID

from attrs import define

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.metadata import MetadataManager
from kafka_groups.client.requests import NEVER_MS, ClientResponse, Lane, OutgoingRequest, PollResult
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import (
    DisconnectedError,
    InvalidRecordStateError,
    NotLeaderOrFollowerError,
    OperationTimeoutError,
    ShareSessionNotFoundError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.share_fetch import ShareFetchResponse
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.fetching.assigned import PartitionsByLeader
from kafka_groups.share.delivery.fetching.delayed import DelayedRelease, DelayedReleases
from kafka_groups.share.delivery.fetching.demand import Demand
from kafka_groups.share.delivery.fetching.fetch_sensors import ShareMetrics
from kafka_groups.share.delivery.fetching.fetch_size import FetchSize
from kafka_groups.share.delivery.fetching.leader import InFlightRequest, Leader, Purpose
from kafka_groups.share.delivery.fetching.renewal import Renewer
from kafka_groups.share.delivery.fetching.share_responses import ShareResponses
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.delivery.returned import returned_unseen
from kafka_groups.share.membership.membership import ShareMembership
from kafka_groups.share.membership.states import MemberState
from kafka_groups.types import TopicIdPartition

__all__ = ["Collaborators", "ShareFetchManager"]


@define
class Collaborators:
    """The objects that a fetch manager works with."""

    membership: ShareMembership
    metadata: MetadataManager
    errors: BackgroundErrors
    inbox: Inbox
    metrics: ShareMetrics
    rng: random.Random


class ShareFetchManager:
    """Fetches records and sends acknowledgements. A request manager.

    Args:
        config: The consumer's configuration.
        collaborators: The objects that it works with.
    """

    def __init__(self, config: ShareConsumerConfig, collaborators: Collaborators) -> None:
        self._config = config
        self._collaborators = collaborators
        self._inbox = collaborators.inbox
        self._leaders: dict[int, Leader] = {}
        self._assigned = PartitionsByLeader(
            collaborators.membership, collaborators.metadata, collaborators.inbox.events, self._backoff()
        )
        self._closing = False
        self._noted_poll_ms: int | None = None
        self._responses = ShareResponses(
            config, collaborators.metadata, collaborators.errors, collaborators.inbox, collaborators.metrics
        )
        self._demand = Demand(config, collaborators.inbox, self._responses)
        self._renewer = Renewer(config, collaborators.errors, collaborators.inbox, collaborators.metrics)
        self._delayed = DelayedReleases(collaborators.inbox.events, config.default_api_timeout_ms)

    def __repr__(self) -> str:
        return f"<ShareFetchManager {list(self._leaders.values())}>"

    @property
    def lock_timeout_ms(self) -> int | None:
        """The duration of acquisition locks in ms; None before the first fetch response."""
        return self._responses.lock_timeout_ms

    @property
    def has_grown(self) -> bool:
        """True if the application can use more records than a fetch requests at first."""
        return any(leader.size.has_grown for leader in self._leaders.values())

    @property
    def held_records(self) -> int:
        """Number of records with a delayed release."""
        return self._delayed.records

    @property
    def is_closed(self) -> bool:
        """True if no session is open and no request is in flight."""
        return self._closing and not any(
            leader.exchange is not None or leader.pending or leader.session.is_open for leader in self._leaders.values()
        )

    def close(self) -> None:
        """Send what is pending and close all sessions, which releases the records that are still acquired."""
        self._closing = True
        for leader in self._leaders.values():
            # A leader marked as ending takes no fetch any more: its next request is a ShareAcknowledge with the final
            # epoch (KIP-932, "Share sessions"; ShareConsumeRequestManager.acknowledgeOnClose in Kafka).
            leader.ending = True

    def reopen(self) -> None:
        """Fetch again after `close`, in new sessions. Sessions that are still open are closed first."""
        # `ending` of the leaders stays set. So an unsubscribe followed by a subscribe still closes the old session, and
        # its locks are released instead of moving into the new one.
        self._closing = False

    def give_up(self) -> None:
        """Fail all unsettled acknowledgements and ignore later responses."""
        lost = [pending for leader in self._leaders.values() for pending in _unsettled(leader)]
        while self._inbox.outbox:
            lost.append(self._inbox.outbox.popleft())
        # Nobody will poll any more, so the records that wait are only counted as returned. The broker releases them
        # with the connection (KIP-932, "Share sessions").
        for fetched in list(self._inbox.ready):
            self._inbox.withdraw(fetched)
        for pending in lost:
            self._responses.fail(pending, OperationTimeoutError(_CLOSED_BEFORE_ANSWER))

    def connection_lost(self, host: str, port: int) -> None:
        """Note that a data connection ended. Its request in flight has failed already."""
        for leader in self._leaders.values():
            node = self._collaborators.metadata.metadata.nodes.get(leader.node_id)
            # Three kinds of leaders are left alone: behind another connection, with a request in flight, whose failure
            # ends the session in `on_failure`, and without a session. For the rest the broker has closed the session
            # with the connection (KIP-932, "Share sessions"), although no request failed.
            is_there = node is not None and (node.host, node.port) == (host, port)
            if is_there and leader.exchange is None and leader.session.is_open:
                self._responses.connection_lost(leader)

    # ---------------------------------------------------------------------------------- the manager

    def poll(self, now_ms: int) -> PollResult:
        """Return the next request to each leader that can take one."""
        self._inbox.will_be_read = False  # before looking at what the application did, so that nothing is overlooked
        self._note_application(now_ms)
        self._collaborators.metrics.turned(now_ms)
        self._accept_outbox(now_ms)
        self._follow_assignment()
        requests: list[OutgoingRequest] = []
        wait_ms = self._assigned.search_leaders(now_ms)
        for leader in self._in_turn():
            # At most one request to each leader: the broker checks the session epoch of each request, so two in flight
            # would have to arrive in order, and a lost response would leave both sides with different epochs. Kafka's
            # client skips such a node by nodesWithPendingRequests (ShareConsumeRequestManager.poll).
            request, leader_wait_ms = self._next(leader, now_ms)
            wait_ms = min(wait_ms, leader_wait_ms)
            if request is not None:
                requests.append(request)
        self._inbox.records_held = self._delayed.records
        if self._plan_next_look(now_ms):
            wait_ms = 0
        return PollResult(tuple(requests), wait_ms)

    def _plan_next_look(self, now_ms: int) -> bool:
        """Decide whether the application must wake the loop.

        Return True if the loop must look at the inbox again at once.
        """
        inbox = self._inbox
        gathering = [leader for leader in self._leaders.values() if self._gathers(leader, now_ms)]
        busy = sum(leader.exchange is not None for leader in self._leaders.values())
        # Every leader either owes a response or will take its acknowledgements with the fetch that follows when the
        # application takes the next response. Both bring the loop back to the inbox, so the application need not wake
        # it.
        inbox.will_be_read = bool(self._leaders) and busy + len(gathering) == len(self._leaders)
        # The application may have acted in the meantime, and have seen the old value of `will_be_read`.
        is_overtaken = inbox.has_urgent_acknowledgements or not all(inbox.unclaimed(x.node_id) for x in gathering)
        return inbox.will_be_read and (is_overtaken or (inbox.is_paused and bool(gathering)))

    def _gathers(self, leader: Leader, now_ms: int) -> bool:
        """Return True if acknowledgements wait for the fetch that is due when the application takes the next response.

        They do not wait if a caller waits for their result, or if no fetch will follow.
        """
        # Kafka's client has no such wait: acknowledgements of a poll that sends no fetch go in a ShareAcknowledge at
        # once. Here a fetch may return more than a poll, so most polls send no fetch, and that extra request would
        # delay the next one.
        is_early = leader.exchange is None and now_ms < leader.gathers_until_ms
        if not is_early or self._closing or self._inbox.is_paused or not self._inbox.unclaimed(leader.node_id):
            return False
        return not any(pending.is_urgent for pending in leader.pending)

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Process a leader's response."""
        exchange: InFlightRequest = request.context
        # `give_up` has failed the acknowledgements of this request already, and each result is reported once.
        if exchange.leader.exchange is not exchange:
            return  # given up
        exchange.leader.exchange = None
        # The version tells whether the leader knows the type RENEW, which needs version 2 (KIP-1222).
        exchange.leader.version = answer.version
        try:
            if exchange.purpose is Purpose.FETCH:
                self._note_unwanted(exchange.leader, answer.message)
                self._responses.fetched(exchange, answer, now_ms)
            else:
                self._responses.acknowledged(exchange, answer, now_ms)
        except Exception:
            exchange.leader.exchange = exchange  # a bug of ours: `give_up` must find its acknowledgements
            raise

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Handle a request without a response. With the connection, the session and all of its locks are lost."""
        exchange: InFlightRequest = request.context
        if exchange.leader.exchange is not exchange:
            return  # given up
        exchange.leader.exchange = None
        self._responses.lost(exchange, error, now_ms)

    def _note_unwanted(self, leader: Leader, response: ShareFetchResponse) -> None:
        """Note records that arrive after the consumer decided to end their session. Nobody will see them."""
        # There are two reasons to end a session: the consumer closes, or it unsubscribed. In both cases the records are
        # released when the session closes, and a record on its last delivery is archived by that release (KIP-932,
        # "In-flight records"). The application hears of it by the callback for archived records.
        if not leader.ending:
            return
        name_of = self._collaborators.metadata.metadata.name_of
        for topic in response.responses:
            for data in topic.partitions:
                topic_id = topic.topic_id or UUID(int=0)
                named = TopicIdPartition(topic_id, data.partition_index, name_of(topic_id))
                returned = returned_unseen(named, data.acquired_records)
                if returned is not None:
                    self._inbox.returned.append(returned)

    def _note_application(self, now_ms: int) -> None:
        """Tell the membership that the application has polled, or is waiting in a poll."""
        # A poll that waits for records counts as polling all the time, as in Kafka's client, whose poll repeats its
        # event in the loop (ShareConsumerImpl.checkInFlightPoll, AbstractHeartbeatRequestManager.resetPollTimer).
        polled_ms = now_ms if self._inbox.is_waiting else self._inbox.last_poll_ms
        if polled_ms is not None and (self._noted_poll_ms is None or polled_ms > self._noted_poll_ms):
            self._noted_poll_ms = polled_ms
            self._collaborators.membership.application_polled(polled_ms)

    # ------------------------------------------------------------------------- what the leaders hold

    def _follow_assignment(self) -> None:
        if self._assigned.follow():
            # Leaders without assigned partitions stay in `_leaders`: their session may still hold locks of records in
            # hand, whose acknowledgements must reach it. The session stays open; Kafka's client closes one that has
            # become empty (ShareConsumeRequestManager.isSessionCloseCandidate).
            for node_id in self._assigned.by_leader:
                self._leader(node_id)
            self._responses.withdraw_moved()

    def _leader(self, node_id: int) -> Leader:
        leader = self._leaders.get(node_id)
        if leader is None:
            fixed = self._config.fetch_max_records
            size = FetchSize(self._config.max_poll_records, fixed if isinstance(fixed, int) else None)
            leader = self._leaders[node_id] = Leader(node_id, self._backoff(), size)
        return leader

    def _backoff(self) -> BackoffTimer:
        return BackoffTimer(self._config.retry_backoff_ms, self._config.retry_backoff_max_ms, self._collaborators.rng)

    def _in_turn(self) -> Sequence[Leader]:
        leaders = list(self._leaders.values())
        # With record_limit only one leader acquires at a time, as more would exceed the limit together (KIP-1206).
        # Kafka's client rotates by moving the partition that it fetched to the end (ShareConsumeRequestManager.poll);
        # here the leader that was asked last comes last.
        if self._demand.is_limited and len(leaders) > 1:
            leaders.sort(key=lambda leader: leader.last_fetch_ms)
        return leaders

    # -------------------------------------------------------------------------- acknowledgements in

    def _accept_outbox(self, now_ms: int) -> None:
        outbox = self._inbox.outbox
        while outbox:
            pending = outbox.popleft()
            leader = self._leaders.get(pending.delivery.session.node_id)
            if leader is None or leader.session.id != pending.delivery.session:
                # The locks ended with the session in which the records were acquired, so the broker would answer
                # INVALID_RECORD_STATE, or apply the acknowledgement to a later delivery of the record to this member.
                # Kafka's client fails what it would have to send in a new session with a network exception
                # (ShareConsumeRequestManager.maybeAddAcknowledgements).
                self._responses.fail(pending, ShareSessionNotFoundError(_SESSION_GONE))
            elif self._has_moved(pending):
                # For a new leader the records are available again, because the Acquired state is not persisted
                # (KIP-932, "Managing durable share-partition state"). Kafka's client fails these acknowledgements with
                # NOT_LEADER_OR_FOLLOWER, too (ShareConsumeRequestManager.acknowledgementsCannotBeSentError).
                self._responses.fail(pending, NotLeaderOrFollowerError(_LEADER_MOVED))
            else:
                self._renewer.admit(leader, pending, self._responses.fail)
        self._accept_delayed()
        self._expire_pending(now_ms)

    def _accept_delayed(self) -> None:
        while self._inbox.delayed:
            self._delayed.add(DelayedRelease(*self._inbox.delayed.popleft()))
        for leader in self._leaders.values():
            # Held records lost their locks with the session. Their release is reported as failed, like an
            # acknowledgement that the application sent too late.
            for held in self._delayed.session_ended(leader):
                self._responses.fail(held.release(NEVER_MS * 2, 0), ShareSessionNotFoundError(_SESSION_GONE))

    def _has_moved(self, pending: PendingAcknowledgement) -> bool:
        leader = self._collaborators.metadata.metadata.leader_of(pending.partition)
        # While the metadata has no leader (None) the old one is still tried: it may still be the leader, and if not, it
        # says so in its response.
        return leader is not None and leader != pending.delivery.session.node_id

    def _expire_pending(self, now_ms: int) -> None:
        for leader in self._leaders.values():
            # The deadline is `default.api.timeout.ms` after the commit, or the end of the lock for renewals. Kafka's
            # client gives up retries in the same way (ShareConsumeRequestManager.AcknowledgeRequestState.maybeExpire),
            # but with a timeout as the error.
            for pending in [p for p in leader.pending if p.deadline_ms <= now_ms]:
                leader.pending.remove(pending)
                self._responses.fail(pending, DisconnectedError("the leader could not be reached in time"))

    # ---------------------------------------------------------------------------------- requests out

    def _next(self, leader: Leader, now_ms: int) -> tuple[OutgoingRequest | None, int]:
        if leader.exchange is not None:
            return None, NEVER_MS
        # A session that was never opened, or has ended by itself, needs no closing request: the leader is free for new
        # fetches.
        leader.ending = leader.ending and leader.session.is_open
        # Before the back-off: closing must fit into the consumer's timeout, so it is tried once and at once.
        if self._closing or leader.ending:
            return self._closing_request(leader, now_ms), NEVER_MS
        wait_ms = leader.backoff.remaining_ms(now_ms)
        if wait_ms > 0:
            return None, wait_ms
        renewal_wait_ms = self._keep_locks(leader, now_ms)
        # Before any fetch, since a fetch may wait at the leader for `fetch.max.wait.ms` and locks would expire
        # meanwhile.
        if self._must_go_alone(leader):
            return self._acknowledge(leader, now_ms), NEVER_MS
        max_wait_ms = self._fetch_wait(leader, now_ms)
        if max_wait_ms is not None:
            # Until it answers, the leader takes no other request: a renewal or a delayed release would have to wait.
            return self._fetch(leader, min(max_wait_ms, renewal_wait_ms), now_ms), NEVER_MS
        # No fetch is due, because the application has not taken the last response yet. There are two cases: the
        # acknowledgements wait a moment for the fetch that follows when it does, or they go in a ShareAcknowledge of
        # their own.
        if self._gathers(leader, now_ms):
            return None, min(renewal_wait_ms, leader.gathers_until_ms - now_ms)
        if leader.pending:
            return self._acknowledge(leader, now_ms), NEVER_MS
        return None, renewal_wait_ms

    def _keep_locks(self, leader: Leader, now_ms: int) -> int:
        # The application has not polled for `max.poll.interval.ms`, and the member has left the group. Waiting records
        # go back, so that others get them. Records in hand are not renewed, so that an application that hangs loses
        # their locks. Kafka's client leaves the group as well (AbstractMembershipManager.transitionToStale).
        if self._collaborators.membership.state is MemberState.STALE:
            self._renewer.give_back(leader)
            self._delayed.give_up(leader, now_ms)
            return NEVER_MS
        # Records in hand and delayed releases keep their renewals while the consumer is paused; only what waits is
        # released.
        if self._inbox.is_paused:
            self._renewer.give_back(leader)
        lock_timeout_ms = self._responses.lock_timeout_ms
        return min(
            self._delayed.turn(leader, lock_timeout_ms, now_ms), self._renewer.renew(leader, lock_timeout_ms, now_ms)
        )

    def _must_go_alone(self, leader: Leader) -> bool:
        """Return True for renewals, and for partitions that are no longer fetched: they cannot travel with a fetch."""
        # A fetch that renews must fetch nothing: with IsRenewAck the broker demands that all limits of the fetch are 0
        # (KIP-1222), so a ShareAcknowledge does the same. A partition named in a ShareFetch is added to the session, so
        # one that is not wanted any more would come back. KIP-932, "ShareFetch API", has it listed and forgotten in one
        # request, as Kafka's client does (ShareSessionHandler.newShareFetchBuilder); a ShareAcknowledge needs neither.
        wanted = self._assigned.by_leader.get(leader.node_id, ())
        return any(pending.renews or pending.partition not in wanted for pending in leader.pending)

    def _fetch_wait(self, leader: Leader, now_ms: int) -> int | None:
        """Return how long the leader of a fetch that is due now may wait for records, or None if no fetch is due."""
        if not self._assigned.by_leader.get(leader.node_id) or self._another_acquires(leader):
            return None
        return self._demand.wait_ms(leader, len(self._assigned.by_leader), now_ms)

    def _another_acquires(self, leader: Leader) -> bool:
        # Without a limit, or with a share of it for each leader, all leaders may acquire at the same time.
        if not self._demand.is_limited or self._demand.is_divided(len(self._assigned.by_leader)):
            return False
        # What waits in the inbox counts against the limit as well, so nothing is fetched until the application has
        # taken it. Kafka's client keeps the one node that may fetch in fetchRecordsNodeId (ShareConsumeRequestManager,
        # KIP-1206).
        others = (other.exchange for other in self._leaders.values() if other is not leader)
        return bool(self._inbox.ready) or any(exchange is not None for exchange in others)

    def _fetch(self, leader: Leader, max_wait_ms: int, now_ms: int) -> OutgoingRequest:
        identity, demand = self._collaborators.membership.identity, self._demand
        # A setback anywhere concerns the application and not one leader, so the sizes of all leaders start again.
        if demand.had_setback():
            for each in self._leaders.values():
                each.size.reset()
        wanted = self._assigned.by_leader[leader.node_id]
        most = demand.max_records(leader, len(self._assigned.by_leader), len(wanted), now_ms)
        limits = demand.limits(max_wait_ms, most)
        taken = leader.take_pending()
        leader.last_fetch_ms = now_ms
        request = leader.fetch_request(identity.group_id, identity.member_id, wanted, taken, limits)
        exchange = InFlightRequest(Purpose.FETCH, leader, taken, now_ms, max_wait_ms, limits.max_records)
        return self._outgoing(ApiKey.SHARE_FETCH, request, exchange)

    def _acknowledge(self, leader: Leader, now_ms: int, *, closing: bool = False) -> OutgoingRequest:
        identity = self._collaborators.membership.identity
        taken = leader.take_pending()
        request = leader.acknowledge_request(identity.group_id, identity.member_id, taken, closing=closing)
        exchange = InFlightRequest(Purpose.CLOSE if closing else Purpose.ACKNOWLEDGE, leader, taken, now_ms)
        return self._outgoing(ApiKey.SHARE_ACKNOWLEDGE, request, exchange)

    def _closing_request(self, leader: Leader, now_ms: int) -> OutgoingRequest | None:
        # There is nothing to close. What is still pending belongs to an earlier session and has failed already.
        if not leader.session.is_open:
            return None
        self._delayed.give_up(leader, now_ms)
        # A renewal would be void at once, because closing the session releases all its records. Acknowledgements that
        # the application made are sent with the closing request (KIP-932, "Share sessions").
        for pending in [p for p in leader.pending if p.is_renewal_in_place and p.renews]:
            leader.pending.remove(pending)
            self._responses.fail(pending, InvalidRecordStateError("the share session is being closed"))
        return self._acknowledge(leader, now_ms, closing=True)

    def _outgoing(self, api: ApiKey, request: object, exchange: InFlightRequest) -> OutgoingRequest:
        exchange.leader.exchange = exchange
        self._collaborators.metrics.sent(exchange)
        return OutgoingRequest(
            api,
            lambda _version: request,
            node_id=exchange.leader.node_id,
            # A fetch may rightly wait at the leader for its MaxWaitMs, so the timeout counts from there.
            timeout_ms=self._config.request_timeout_ms + exchange.max_wait_ms,
            context=exchange,
            lane=Lane.DATA,
        )


def _unsettled(leader: Leader) -> tuple[PendingAcknowledgement, ...]:
    exchange, leader.exchange = leader.exchange, None
    return (*(exchange.acknowledgements if exchange is not None else ()), *leader.drop_pending())


_CLOSED_BEFORE_ANSWER = "the consumer was closed before the broker answered; the records may be delivered again"
_SESSION_GONE = "the share session in which the records were acquired has ended; they will be delivered again"
_LEADER_MOVED = "another broker leads the partition now; the records will be delivered again"
