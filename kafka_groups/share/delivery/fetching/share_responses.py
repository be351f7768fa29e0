"""Processes leaders' responses: delivered records, acknowledgements, lost sessions, moved leaders."""

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.events import Area
from kafka_groups.client.features import if_switched_off
from kafka_groups.client.metadata import MetadataManager
from kafka_groups.client.principals import principal_of
from kafka_groups.client.requests import NEVER_MS, ClientResponse
from kafka_groups.client.rights import explained
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import (
    BrokerError,
    DisconnectedError,
    InvalidRecordStateError,
    KafkaGroupsError,
    UnsupportedVersionError,
    error_for,
    is_retriable,
)
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeResponse
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartitionData, ShareFetchResponse
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.fetching.fetch_sensors import ShareMetrics
from kafka_groups.share.delivery.fetching.leader import InFlightRequest, Leader, Purpose
from kafka_groups.share.delivery.inbox import CompletedFetch, Inbox
from kafka_groups.types import TopicIdPartition

__all__ = ["GATHER_MS", "ShareResponses"]

# After these top-level errors the client opens a new session with epoch 0 (ShareSessionHandler.handleResponse in Kafka;
# SHARE_SESSION_LIMIT_REACHED came with Kafka 4.1 and is not in KIP-932). All other errors keep the session.
_SESSION_LOST = frozenset({
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED,
})  # fmt: skip
# Retriable errors that Kafka's client does not retry either (ShareConsumeRequestManager.handlePartitionError).
_LEADER_CHANGED = frozenset({
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
})  # fmt: skip
"""Errors after which acknowledgements are not retried, because the locks were lost with the leader."""
# Errors of a fetched partition that call for new metadata, as in ShareFetchCollector.handleInitializeErrors.
# LEADER_NOT_AVAILABLE is not in Kafka's list; it is retriable and means the same.
_REFRESH = _LEADER_CHANGED | {
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.LEADER_NOT_AVAILABLE,
}
# Kafka's client only logs these two as well (ShareFetchCollector.handleInitializeErrors): the next fetch tries again.
_ONLY_LOGGED = frozenset({ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR})
# No later request can succeed, so the consumer ends: share groups are switched off or unsupported, or the group is
# forbidden. In Kafka's client the heartbeat treats both as fatal (AbstractHeartbeatRequestManager.onErrorResponse,
# ShareHeartbeatRequestManager.handleSpecificExceptionInResponse).
_FATAL = frozenset({ErrorCode.UNSUPPORTED_VERSION, ErrorCode.GROUP_AUTHORIZATION_FAILED})

GATHER_MS = 20
"""The longest wait of acknowledgements for the application to take a response, so that they go with the next fetch."""

Condition = Callable[[CompletedFetch], bool]
PartitionResults = dict[TopicIdPartition, tuple[ErrorCode, str | None]]


class ShareResponses:
    """Applies responses to the leaders, the inbox and the metadata.

    Args:
        config: The consumer's configuration.
        metadata: Receives new leaders.
        errors: Receives errors for the application.
        inbox: Receives records and the results of acknowledgements.
        metrics: Counts records and acknowledgements.
    """

    def __init__(
        self,
        config: ShareConsumerConfig,
        metadata: MetadataManager,
        errors: BackgroundErrors,
        inbox: Inbox,
        metrics: ShareMetrics,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._errors = errors
        self._inbox = inbox
        self._metrics = metrics
        self.lock_timeout_ms: int | None = None

    # ----------------------------------------------------------------------------------------- fetch

    def fetched(self, exchange: InFlightRequest, answer: ClientResponse, now_ms: int) -> None:
        """Process a ShareFetch response."""
        response: ShareFetchResponse = answer.message
        leader = exchange.leader
        self._metrics.fetched(answer.latency_ms, response.throttle_time_ms, now_ms)
        if response.error_code is not ErrorCode.NONE:
            self._refused(exchange, response.error_code, response.error_message, now_ms)
        else:
            self._learn_lock_timeout(response.acquisition_lock_timeout_ms)
            # The epoch advances with each response, whatever its partitions say: the broker has counted the request
            # (KIP-932, "Share sessions").
            leader.session.answered()
            if self._is_well(exchange, response, now_ms):
                leader.backoff.succeeded()
            else:
                leader.backoff.failed(now_ms)
        leader.backoff.wait(response.throttle_time_ms, now_ms)

    def _is_well(self, exchange: InFlightRequest, response: ShareFetchResponse, now_ms: int) -> bool:
        """Apply the response to the partitions. Return False if the client should back off from the leader."""
        parts = list(_parts(response))
        results: PartitionResults = {tip: (p.acknowledge_error_code, p.acknowledge_error_message) for tip, p in parts}
        # Acknowledgements first: a fetch has an error for them (AcknowledgeErrorCode) beside the error of the fetch
        # itself, and one may fail while the other succeeds.
        tries_again = self._settle_all(exchange, results, now_ms)
        failed = [self._partition_failed(tip, p, response.node_endpoints) for tip, p in parts if p.error_code]
        self._deliver(exchange, parts, now_ms)
        # A partition that fails does not slow down the others of its leader: the client backs off only if no partition
        # brought records, or if acknowledgements are tried again.
        return not tries_again and not (any(failed) and exchange.leader.was_empty)

    def _deliver(
        self, exchange: InFlightRequest, parts: Iterable[tuple[TopicIdPartition, ShareFetchPartitionData]], now_ms: int
    ) -> None:
        if exchange.leader.ending:
            return  # closing the session releases them
        fetched = [self._fetched_part(exchange, tip, data) for tip, data in parts if data.acquired_records]
        exchange.leader.was_empty = not fetched
        records, size_bytes = sum(f.acquired.open_count for f in fetched), sum(len(f.blob or b"") for f in fetched)
        redelivered = sum(f.acquired.max_delivery_count > 1 for f in fetched)
        self._metrics.redelivered_total += redelivered
        inbox, size = self._inbox, exchange.leader.size
        # A record that was delivered before may have crashed its earlier consumers. Fetches start small again, so that
        # the next crash costs few records a delivery.
        if redelivered:
            size.reset()
        else:
            size.answered(
                exchange.max_records, records, size_bytes, is_awaited=inbox.needs_records, waiting=inbox.records_waiting
            )
        if fetched:
            inbox.deliver(exchange.leader.node_id, fetched)
            # The application takes these records soon, and a fetch follows then. Acknowledgements of its last poll wait
            # for it.
            exchange.leader.gathers_until_ms = now_ms + GATHER_MS
            self._metrics.delivered(records, size_bytes, now_ms)

    def _fetched_part(
        self, exchange: InFlightRequest, tip: TopicIdPartition, data: ShareFetchPartitionData
    ) -> CompletedFetch:
        named = TopicIdPartition(tip.topic_id, tip.partition, self._metadata.metadata.name_of(tip.topic_id))
        # The lock begins when the broker acquires, which is after the request was sent and before the response came.
        # Counting from the request is on the safe side: the client's deadline is never later than the broker's. If the
        # broker does not tell the timeout (AcquisitionLockTimeoutMs is 0), locks are taken to last.
        deadline_ms = exchange.sent_ms + (self.lock_timeout_ms or NEVER_MS)
        acquired = DeliveredRecords(named, exchange.leader.session.id, data.acquired_records, deadline_ms)
        return CompletedFetch(acquired, data.records or b"")

    def _partition_failed(
        self, tip: TopicIdPartition, data: ShareFetchPartitionData, endpoints: Sequence[NodeEndpoint]
    ) -> bool:
        """Handle the error of a partition. Return True if the client should back off from the leader."""
        code = data.error_code
        # There are three cases. The leader may have moved: its hint or new metadata tell where to fetch. A passing
        # error is logged, and the next fetch tries again. Any other error needs the application, for example
        # TOPIC_AUTHORIZATION_FAILED, and the next poll raises it.
        if code in _REFRESH:
            return not self._follow_leader(tip, data.current_leader, endpoints)
        topic = self._metadata.metadata.name_of(tip.topic_id) or tip.topic_id
        text = f"Fetching {topic}-{tip.partition} failed with {code.name}: {data.error_message or 'no message'}"
        # Kafka's client raises CORRUPT_MESSAGE here; it is retriable, so this client warns and retries.
        if code in _ONLY_LOGGED or is_retriable(error_for(code)):
            self._inbox.events.warn(Area.RECORDS, f"fetch {tip} {code.name}", sentences(text, "Retrying"))
        else:
            self._report(self._explained(error_for(code, text), ApiKey.SHARE_FETCH, str(topic)))
        return True

    def _follow_leader(
        self, tip: TopicIdPartition, leader: LeaderIdAndEpoch, endpoints: Sequence[NodeEndpoint]
    ) -> bool:
        """Return True if the response named the new leader, so that no metadata request is needed (KIP-951)."""
        if self._metadata.metadata.apply_hint(tip, leader, endpoints):
            return True
        self._metadata.request_update()
        return False

    # ------------------------------------------------------------------------------- acknowledgement

    def acknowledged(self, exchange: InFlightRequest, answer: ClientResponse, now_ms: int) -> None:
        """Process a ShareAcknowledge response, including the one that closes a session."""
        response: ShareAcknowledgeResponse = answer.message
        leader = exchange.leader
        if response.error_code is not ErrorCode.NONE:
            self._refused(exchange, response.error_code, response.error_message, now_ms)
        else:
            self._learn_lock_timeout(response.acquisition_lock_timeout_ms)
            leader.session.answered()
            # Back off only if something is retried. Errors that failed for good do not delay the next fetch.
            if self._settle_response(exchange, response, now_ms):
                leader.backoff.failed(now_ms)
        leader.backoff.wait(response.throttle_time_ms, now_ms)
        # The session is over whatever the response says: a broker that does not know it has nothing to release. Kafka's
        # client removes its session handler in any case (ShareConsumeRequestManager.handleShareAcknowledgeSuccess).
        if exchange.purpose is Purpose.CLOSE:
            self._end_session(leader, InvalidRecordStateError("the share session was closed"))

    def _settle_response(self, exchange: InFlightRequest, response: ShareAcknowledgeResponse, now_ms: int) -> bool:
        results: PartitionResults = {}
        for topic in response.responses:
            for p in topic.partitions:
                tip = TopicIdPartition(topic.topic_id or UUID(int=0), p.partition_index)
                results[tip] = (p.error_code, p.error_message)
                # The acknowledgements are lost with the leader, but the hint tells where to fetch next (KIP-951).
                if p.error_code in _LEADER_CHANGED:
                    self._follow_leader(tip, p.current_leader, response.node_endpoints)
        return self._settle_all(exchange, results, now_ms)

    def _settle_all(self, exchange: InFlightRequest, results: PartitionResults, now_ms: int) -> bool:
        """Settle the acknowledgements of the request. Return True if some of them are retried."""
        tries_again = False
        # A broker must answer for each partition of the request. What it leaves out is failed and not retried, as in
        # ShareConsumeRequestManager.processRetryLogic: whether it was applied is unknown.
        missing = (ErrorCode.INVALID_RECORD_STATE, "the broker's response does not mention the partition")
        for pending in exchange.acknowledgements:
            code, message = results.get(pending.partition, missing)
            if code is ErrorCode.NONE:
                self._succeed(pending, exchange.sent_ms, now_ms)
            else:
                topic = self._metadata.metadata.name_of(pending.partition.topic_id) or pending.partition.topic_id
                error = self._explained(error_for(code, message), ApiKey.SHARE_ACKNOWLEDGE, str(topic))
                tries_again |= self._fail_or_retry(exchange, pending, error, now_ms)
        return tries_again

    def _fail_or_retry(
        self, exchange: InFlightRequest, pending: PendingAcknowledgement, error: BrokerError, now_ms: int
    ) -> bool:
        # Retried are errors that may pass while the locks still hold. Not retried are errors after which the locks are
        # gone with the leader, and everything in a closing request, since no request may follow it in the session.
        may_retry = error.retriable and error.code not in _LEADER_CHANGED and exchange.purpose is not Purpose.CLOSE
        if may_retry and now_ms < pending.deadline_ms:
            # In front, so that it goes with the next request, before newer acknowledgements of the same records.
            exchange.leader.pending.appendleft(pending)
            return True
        self.fail(pending, error)
        return False

    def _succeed(self, pending: PendingAcknowledgement, sent_ms: int, now_ms: int) -> None:
        """Apply a success. After the lock it may mean nothing: brokers ignore acknowledgements of archived records."""
        delivery = pending.delivery
        is_late = now_ms >= delivery.lock_deadline_ms
        # The broker answers without an error if the start offset has moved past the records meanwhile (KIP-932, "Log
        # retention"; SharePartition.acknowledge in Kafka). So a late success may belong to records that went back, and
        # were archived if this was their last delivery.
        if is_late:
            self._inbox.came_back(pending)
        if pending.renews:
            delivery.renewing = False
            # The response came after the old lock's end, so nobody knows whether the renewal was in time. The lock is
            # not prolonged, and waiting records are dropped as expired. A RENEW acknowledgement of the application is
            # taken as the broker says.
            if is_late and pending.is_renewal_in_place:
                delivery.renewable = False
            else:
                # The renewed lock counts from when the renewal was sent, for the same reason as at acquiring. The
                # broker only restarts its timer: state and delivery count stay as they are (KIP-1222).
                delivery.lock_deadline_ms = sent_ms + (self.lock_timeout_ms or NEVER_MS)
            self._metrics.renewals_send_total += 1
            # What the application acknowledged with RENEW is returned by a later poll again, with the same delivery
            # count (ShareFetch.takeRenewedRecords in Kafka). Renewals that this client makes by itself return nothing.
            runs = pending.renewed_runs()
            if runs:
                again = CompletedFetch(delivery.redelivery(runs), None)
                self._inbox.deliver(delivery.session.node_id, [again])
        self._settled(pending, None)

    def fail(self, pending: PendingAcknowledgement, error: KafkaGroupsError) -> None:
        """Report a failed acknowledgement. The broker redelivers its records."""
        delivery = pending.delivery
        # The lock of these records will expire soon. Records that still wait are withdrawn, so that no poll returns
        # them without a lock; for records in hand the application is warned.
        if pending.is_renewal_in_place:
            delivery.renewing = False
            delivery.renewable = False
            self._withdraw(lambda fetched: fetched.acquired is delivery)
            if not delivery.is_held:  # held records are released before their locks expire, and reported then
                self._inbox.lost(delivery, f"they could not be renewed: {error}")
        self._settled(pending, error)

    def _settled(self, pending: PendingAcknowledgement, error: KafkaGroupsError | None) -> None:
        # Renewals in place are no acknowledgements of the application, so its callback does not see them. The ticket of
        # a caller that waits for `renew()` is settled below in either case.
        if not pending.is_renewal_in_place:
            self._inbox.results.append(pending.result(error))
            if error is None:
                self._metrics.acknowledged(pending)
            else:
                self._metrics.refused(pending)
                self._inbox.came_back(pending)
                self._warn(pending, error)
        if pending.ticket is not None:
            pending.ticket.settle(pending.partition, error)

    def _warn(self, pending: PendingAcknowledgement, error: KafkaGroupsError) -> None:
        records = pending.record_count
        first, last = pending.batches[0].first_offset, pending.batches[-1].last_offset
        place = f"{counted(records, 'record')} of {pending.partition} (offsets {first} to {last})"
        text = sentences(f"Could not acknowledge {place}: {error}", "The records may be delivered again")
        self._inbox.events.warn(Area.RECORDS, f"acknowledge {pending.partition}", text)

    # --------------------------------------------------------------------------------------- failures

    def lost(self, exchange: InFlightRequest, error: Exception, now_ms: int) -> None:
        """Handle a request that will never be answered. The broker closes the session with the connection."""
        failure = error if isinstance(error, KafkaGroupsError) else KafkaGroupsError(str(error))
        # The broker has no ShareFetch at all, or none of the versions that Kafka supports since 4.1: trying again is
        # useless.
        if isinstance(failure, UnsupportedVersionError):
            self._errors.report_fatal(failure)
        # Not retried: with the connection the broker closes the session and releases its records (KIP-932, "Share
        # sessions"). The request itself may have been applied before. Kafka's client fails them with the error, too,
        # and opens a new session (ShareConsumeRequestManager.handleShareFetchFailure, ShareSessionHandler.handleError).
        for pending in exchange.acknowledgements:
            self.fail(pending, failure)
        self._end_session(exchange.leader, failure)
        exchange.leader.backoff.failed(now_ms)
        self._metadata.request_update()
        self._inbox.notify()

    def _explained(self, error: BrokerError, api: ApiKey, name: str) -> BrokerError:
        return explained(error, api, (name,), principal_of(self._config))

    def _refused(self, exchange: InFlightRequest, code: ErrorCode, message: str | None, now_ms: int) -> None:
        api = ApiKey.SHARE_FETCH if exchange.purpose is Purpose.FETCH else ApiKey.SHARE_ACKNOWLEDGE
        group_id = self._config.group_id
        error = self._explained(error_for(code, message or f"{code.name}: the share group {group_id}"), api, group_id)
        # There are four cases: an error that ends the consumer, one that the next poll raises once, a lost session,
        # after which the next fetch opens a new one, and a retriable error, after which the session goes on.
        if code in _FATAL:
            self._errors.report_fatal(if_switched_off(api, error))
        elif code not in _SESSION_LOST and not error.retriable:
            self._report(error)
        if code in _SESSION_LOST:
            # The broker does not know the session, or the next fetch replaces it with epoch 0. KIP-932, "Share
            # sessions", has that release its records; Kafka leaves them locked until the locks expire
            # (SharePartitionManager.newContext). In both cases the records will be delivered again, and Kafka's client
            # fails the acknowledgements as well (ShareConsumeRequestManager.handleShareFetchSuccess).
            for pending in exchange.acknowledgements:
                self.fail(pending, error)
            self._end_session(exchange.leader, error)
        else:
            # Other errors keep the session and advance its epoch, as in ShareSessionHandler.handleResponse of Kafka's
            # client.
            exchange.leader.session.answered()
            for pending in exchange.acknowledgements:
                self._fail_or_retry(exchange, pending, error, now_ms)
        exchange.leader.backoff.failed(now_ms)
        self._inbox.notify()

    def _end_session(self, leader: Leader, error: KafkaGroupsError) -> None:
        ended = leader.session.id
        if not leader.ending:
            # A warning only if the locks were lost by accident: a session that ends on purpose releases its records as
            # intended.
            for delivery in self._inbox.in_hand:
                if delivery.session == ended:
                    self._inbox.lost(delivery, f"the share session with their leader ended: {error}")
        leader.session.lost()
        self._inbox.session_ended(ended)
        self._metrics.session_lost_total += 1
        # Records that wait lost their locks, so no poll may return them. Those set aside behind an error are already
        # decoded and stay where they are; with a deadline of 0 they are dropped when their turn comes.
        self._withdraw(lambda fetched: fetched.acquired.session == ended)
        for delivery in self._inbox.set_aside:
            if delivery.session == ended:
                delivery.lock_deadline_ms = 0
        for pending in leader.drop_pending():
            self.fail(pending, error)

    def connection_lost(self, leader: Leader) -> None:
        """Handle a connection that broke while idle: the session and its locks are lost."""
        self._end_session(leader, DisconnectedError("the connection to the leader was lost"))
        self._inbox.notify()

    def withdraw_moved(self) -> None:
        """Withdraw waiting records that were acquired from a broker that no longer leads the partition."""
        leader_of = self._metadata.metadata.leader_of
        self._withdraw(
            lambda fetched: leader_of(fetched.acquired.topic_partition) not in (None, fetched.acquired.session.node_id)
        )

    def _withdraw(self, condition: Condition) -> None:
        for fetched in list(self._inbox.ready):
            if condition(fetched):
                self._inbox.withdraw(fetched)

    def _report(self, error: KafkaGroupsError) -> None:
        self._errors.report(error)
        self._inbox.notify()

    def _learn_lock_timeout(self, timeout_ms: int) -> None:
        if timeout_ms > 0:
            self.lock_timeout_ms = timeout_ms


def _parts(response: ShareFetchResponse) -> Iterable[tuple[TopicIdPartition, ShareFetchPartitionData]]:
    for topic in response.responses:
        for data in topic.partitions:
            yield TopicIdPartition(topic.topic_id or UUID(int=0), data.partition_index), data
