"""Sends the batches of a producer to the leaders of their partitions, in order, until each has a final answer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from uuid import UUID

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer, FailureDelay
from kafka_groups.client.events import Area
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import (
    KafkaGroupsError,
    LeaderNotAvailableError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import NodeEndpoint
from kafka_groups.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.producing.accumulator import RecordAccumulator
from kafka_groups.records.producing.cluster_topics import ProducerCluster
from kafka_groups.records.producing.identity import ProducerIdentity
from kafka_groups.records.producing.known_logs import KnownLogs
from kafka_groups.records.producing.outcomes import (
    DENIED,
    IN_DOUBT,
    MISSING_TOPIC,
    NEW_LEADER,
    ProducerOutcome,
    outcome_of,
)
from kafka_groups.records.producing.partition_batches import SentBatch
from kafka_groups.records.producing.produce_requests import (
    FIRST_WITH_IDS,
    ProducedPartition,
    SentProduceRequest,
    answer_about,
    answers_in,
    data_by_topic,
    produce_message,
)
from kafka_groups.records.producing.produce_settings import ProduceSettings
from kafka_groups.records.producing.producer_ids import NO_PRODUCER
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.records.producing.refusal_texts import refusal_of, text_of_answer, too_large, unnamed, with_remedy
from kafka_groups.records.producing.refusals import BatchOutcomes, Refusals
from kafka_groups.types import TopicPartition

__all__ = ["ProduceManager"]

_ELECTION_LOOKUPS = 4
"""The most questions about a leader without a warning."""
_CREATION_MS = 1_000
"""The longest time that a topic may be missing without a warning, because a broker may be creating it."""


class ProduceManager:
    """A request manager that sends batches (KIP-98). Everything is retried until it is written or refused.

    Args:
        accumulator: Collects the records.
        identity: The producer's id and epoch.
        cluster: Leaders and topics.
        settings: The settings.
        errors: Receives events, and errors that no retry will help.
        new_backoff: Returns a back-off for a partition.
        sensors: Receives counts and times.
        outcomes: Hears of each batch that was written or refused, in place of `refusals`.

    Attributes:
        flush_requested: Whether batches are sent without waiting for more records.
        refusals: Records that were refused.
        confirmed: The number of records that were written.
        written: `KnownLogs.written`, and so on.
        replaced: `KnownLogs.replaced`.
        unknown_ends: `KnownLogs.unknown_ends`.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of a producer
        self,
        accumulator: RecordAccumulator,
        identity: ProducerIdentity,
        cluster: ProducerCluster,
        settings: ProduceSettings,
        errors: BackgroundErrors,
        new_backoff: Callable[[], BackoffTimer],
        sensors: ProducerSensors,
        outcomes: BatchOutcomes | None = None,
    ) -> None:
        self._accumulator = accumulator
        self._identity = identity
        self._cluster = cluster
        self._settings = settings
        self._errors = errors
        self._new_backoff = new_backoff
        self._sensors = sensors
        self._partitions: dict[TopicPartition, ProducedPartition] = {}
        self._active: dict[TopicPartition, ProducedPartition] = {}
        self._logs = logs = KnownLogs()
        self._is_by_name = False  # whether the request whose response is handled had names of topics
        self._in_flight: dict[int, int] = {}
        self._throttles: dict[int, FailureDelay] = {}
        self._generation = 0
        self._is_stopped = False
        self._collects = self._is_under_way if settings.collects else None
        self._wait_ms = NEVER_MS
        self.flush_requested = False
        self.refusals = Refusals()
        self._outcomes = outcomes or self.refusals
        self.confirmed = 0
        self.written, self.replaced, self.unknown_ends = logs.written, logs.replaced, logs.unknown_ends

    def __repr__(self) -> str:
        return f"<ProduceManager with {self.pending} records of {self._identity!r}>"

    @property
    def pending(self) -> int:
        """The number of records without a final answer."""
        sent = sum(batch.count for each in self._active.values() for batch in each.batches.every_batch())
        return sent + self._accumulator.pending

    @property
    def is_flushed(self) -> bool:
        """True if every record has a final answer."""
        return not self._active and self._accumulator.is_empty

    @property
    def active(self) -> Iterable[ProducedPartition]:
        """The partitions with batches that have no final answer."""
        return self._active.values()

    # ----------------------------------------------------------------------------------------- sending

    def poll(self, now_ms: int) -> PollResult:
        """Return the requests that can be sent now, and how long to wait until the next look."""
        if self._is_stopped:
            return PollResult()
        self._wait_ms = self._complete(now_ms)
        self._take_complete(now_ms)
        return PollResult(tuple(self._requests(now_ms)), self._wait_ms)

    def _complete(self, now_ms: int) -> int:
        if not self.flush_requested:
            return self._accumulator.complete_due(now_ms, self._collects)
        self._accumulator.complete_all()
        return NEVER_MS

    def _is_under_way(self, name: TopicPartition) -> bool:
        active = self._active.get(name)
        return active is not None and bool(active.batches)

    def _take_complete(self, now_ms: int) -> None:
        complete = self._accumulator.complete
        while complete:
            batch = complete.popleft()
            if batch.opened_ms is None:  # it was flushed before the first look
                batch.opened_ms = now_ms
            found = self._partitions.get(batch.partition) or self._new_partition(batch.partition)
            if batch.partition not in self._active:
                found.begin(now_ms)
            found.batches.waiting.append(batch)
            self._active[batch.partition] = found

    def _new_partition(self, name: TopicPartition) -> ProducedPartition:
        new = ProducedPartition(name, self._new_backoff(), self._new_backoff(), topic_id=self._logs.topic_id(name))
        self._partitions[name] = new
        self._cluster.want({known.topic for known in self._partitions})
        return new

    def _requests(self, now_ms: int) -> Iterator[OutgoingRequest]:
        ready: dict[int, list[ProducedPartition]] = {}
        for each in tuple(self._active.values()):
            node_id = self._node_for(each, now_ms)
            if node_id is not None:
                ready.setdefault(node_id, []).append(each)
        for node_id, partitions in ready.items():
            left = partitions
            while left and self._in_flight.get(node_id, 0) < self._settings.max_in_flight:
                yield self._request(node_id, left, now_ms)
                left = [each for each in left if self._next_batch(each, node_id) is not None]

    def _node_for(self, each: ProducedPartition, now_ms: int) -> int | None:
        """Return the broker to which a batch of a partition can be sent now, or None."""
        if not each.batches.may_send:  # as for most partitions in most turns
            return None
        if each.batches.awaits_epoch and not self._has_new_epoch(each):
            return None
        wait_ms = each.backoff.remaining_ms(now_ms)
        if wait_ms > 0:
            self._wait(wait_ms)
            return None
        node_id = self._leader_of(each, now_ms)
        if node_id is None:
            return None
        throttle = self._throttles.get(node_id)
        if throttle is not None and (wait_ms := throttle.remaining_ms(now_ms)) > 0:
            self._wait(wait_ms)
            return None
        # What was sent before has its numbers, so it needs no id of now. A transaction has to be open all the same.
        needs_id = not each.batches.sent or self._identity.is_transactional
        if needs_id and not self._identity.may_produce(each.name):
            return None
        return node_id if self._next_batch(each, node_id) is not None else None

    def _wait(self, wait_ms: int) -> None:
        self._wait_ms = min(self._wait_ms, wait_ms)

    def _next_batch(self, each: ProducedPartition, node_id: int) -> ProducerBatch | None:
        return each.batches.next_batch(self._identity.producer, node_id, self._settings.max_in_flight)

    def _request(self, node_id: int, partitions: Iterable[ProducedPartition], now_ms: int) -> OutgoingRequest:
        sent = SentProduceRequest(node_id, self._generation, tuple(self._entries(node_id, partitions)), now_ms)
        self._sensors.requested([each.batch for _, each in sent.entries], now_ms)
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        return OutgoingRequest(
            ApiKey.PRODUCE,
            partial(
                produce_message,
                data_by_topic(sent.entries),
                self._identity.transactional_id,
                self._settings.request_timeout_ms,
            ),
            node_id=node_id,
            timeout_ms=self._settings.request_timeout_ms,
            context=sent,
            lane=self._settings.lane,
            newest_version=self._identity.newest_produce_version,
        )

    def _entries(
        self, node_id: int, partitions: Iterable[ProducedPartition]
    ) -> Iterator[tuple[ProducedPartition, SentBatch]]:
        left_bytes = self._settings.max_request_bytes
        for each in partitions:
            batch = self._next_batch(each, node_id)
            if batch is None or (batch.size_bytes > left_bytes and left_bytes < self._settings.max_request_bytes):
                continue
            sent = each.batches.send(self._identity.producer, node_id)
            self._accumulator.hold(sent.batch)
            left_bytes -= sent.batch.size_bytes
            self._identity.note_produced(each.name)
            # Its turn comes after those of the others, which may not fit into this request.
            self._active[each.name] = self._active.pop(each.name)
            yield each, sent

    # ----------------------------------------------------------------------------------------- leaders

    def _leader_of(self, each: ProducedPartition, now_ms: int) -> int | None:
        topics = self._cluster.topics
        topic_id = topics.id_of(each.name.topic)
        if topic_id is not None and topic_id != each.topic_id and not self._has_moved(each, topic_id):
            return None
        leader = None if topic_id is None or self._is_gone(each) else topics.leader_of(each.by_id)
        if leader is not None:
            each.lookup.succeeded()
            return leader
        if self._is_denied(each) or (self._is_gone(each) and self._gives_up(each, now_ms)):
            return None
        if not each.lookup.remaining_ms(now_ms):
            each.lookup.failed(now_ms)
            self._cluster.refresh()
        # An election takes a moment. A broker that is away may take its partitions with it for long.
        if each.lookup.failures > _ELECTION_LOOKUPS and topic_id is not None:
            text = f"{each.name} has no leader, so its records wait. Are all brokers up?"
            each.trouble = each.trouble or with_remedy(LeaderNotAvailableError(text))
            self._warn(f"leader {each.name}", text)
        self._wait(each.lookup.remaining_ms(now_ms))
        return None

    def _is_gone(self, each: ProducedPartition) -> bool:
        topics = self._cluster.topics
        count = topics.partition_count(each.name.topic)
        return topics.is_missing(each.name.topic) or (count is not None and each.name.partition >= count)

    def _is_denied(self, each: ProducedPartition) -> bool:
        """Refuse the batches of a partition if metadata of its topic may not be read. Return whether it is so."""
        code = self._cluster.topics.error_of(each.name.topic)
        outcome = self._outcome_of(code)
        if outcome is not ProducerOutcome.REFUSE_BATCH or each.batches.is_in_flight:
            return False
        told = PartitionProduceResponse(index=each.name.partition, error_code=code, base_offset=-1)
        self._refuse_all(each, self._error_of(told, each.name))
        return True

    def _refuse_all(self, each: ProducedPartition, error: KafkaGroupsError) -> None:
        for batch in each.batches.every_batch():
            self._refuse(batch, error)
        self._active.pop(each.name)
        self._note_topic(self._partitions.pop(each.name))

    def _note_topic(self, each: ProducedPartition) -> None:
        if each.topic_id is not None and not each.has_begun_anew:
            self._logs.note_topic(each.name, each.topic_id)

    def _has_moved(self, each: ProducedPartition, topic_id: UUID) -> bool:
        """Continue with another topic of the same name, unless answers from the old one may come. Return whether."""
        if each.batches.is_in_flight:
            return False
        former, each.topic_id = each.topic_id, topic_id
        each.missing_since_ms = None
        if each.has_begun_anew:
            # The broker knows the numbers that the first records of this topic had.
            each.has_begun_anew = False
            self._tell_count(each.name.topic)
            return True
        return former is None or self._continues(each)

    def _tell_count(self, topic: str) -> int | None:
        count = self._cluster.topics.partition_count(topic)
        if count is not None:
            self._cluster.made_again({topic: count})
        return count

    def _continues(self, each: ProducedPartition) -> bool:
        """Continue in a topic that was made again. Return False if it does not have the partition."""
        topic, count = each.name.topic, self._tell_count(each.name.topic)
        if count is not None and each.name.partition >= count:
            text = f"{topic} was deleted and created again with {counted(count, 'partition')}: it has no {each.name}."
            self._refuse_all(each, with_remedy(UnknownTopicOrPartitionError(text)))
            return False
        each.batches.restart()
        self._logs.begin_again(each.name)
        self._warn_made_again(each.name)
        return True

    def _warn_made_again(self, place: TopicPartition) -> None:
        self._warn(
            f"made again {place}",
            f"Topic {place.topic} was deleted and created again while records were written to it. Records of"
            f" {place} that were not confirmed are written to the new topic; those before are gone.",
        )

    def _gives_up(self, each: ProducedPartition, now_ms: int) -> bool:
        """Refuse the batches of a partition that has been missing for too long. Return whether it has."""
        since_ms = each.missing_since_ms = now_ms if each.missing_since_ms is None else each.missing_since_ms
        waited_ms = now_ms - since_ms
        # A broker may not know yet of a topic that was just created.
        if waited_ms >= _CREATION_MS:
            text = f"{each.name} does not exist, so its records wait. Create the topic."
            each.trouble = with_remedy(UnknownTopicOrPartitionError(text))
            self._warn(f"missing {each.name}", text)
        most_ms = self._settings.missing_topic_ms
        if most_ms is None or waited_ms < most_ms or each.batches.is_in_flight:
            return False
        text = f"{each.name} has not existed for {waited_ms // 1000} s. Create the topic, or check its name."
        self._refuse_all(each, with_remedy(UnknownTopicOrPartitionError(text)))
        return True

    # -------------------------------------------------------------------------------------- withdrawing

    def withdraw(self, is_withdrawn: Callable[[object], bool], now_ms: int) -> None:
        """Drop records that were never sent. They have no numbers yet, so this leaves no gap.

        Args:
            is_withdrawn: Tells by its origin whether a record is not wanted any more.
            now_ms: The time.
        """
        self._accumulator.complete_all()
        self._take_complete(now_ms)
        for each in tuple(self._active.values()):
            for batch in each.withdraw(is_withdrawn):
                if batch.count:
                    self._accumulator.hold(batch)
                else:
                    self._accumulator.release(batch)
            if not each.batches:
                self._active.pop(each.name)

    # ------------------------------------------------------------------------------------------ epochs

    def _has_new_epoch(self, each: ProducedPartition) -> bool:
        """Number the batches of a partition for a new epoch, if there is one. Return whether it is done."""
        batches, identity = each.batches, self._identity
        # Another partition may have raised the epoch before.
        if identity.producer == batches.numbers.producer:
            identity.raise_epoch()
        if identity.producer == NO_PRODUCER:
            identity.may_produce(each.name)  # notes that an id is wanted
            return False
        doubtful = batches.begin_epoch(identity.producer)
        twice = f"{counted(doubtful, 'record')} may be written twice" if doubtful else "no record is written twice"
        self._warn(
            f"epoch {each.name}",
            f"The sequence numbers of {each.name} begin anew, with epoch {identity.producer.epoch} of producer"
            f" {identity.producer.producer_id}: {twice}.",
        )
        return True

    # ----------------------------------------------------------------------------------------- answers

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Handle the answer about each batch of a request."""
        sent: SentProduceRequest = request.context
        response: ProduceResponse = answer.message
        self._is_by_name = answer.version < FIRST_WITH_IDS
        self._sensors.answered(now_ms - sent.sent_ms, response.throttle_time_ms)
        if response.throttle_time_ms:
            self._throttles.setdefault(sent.node_id, FailureDelay()).wait(response.throttle_time_ms, now_ms)
        if not self._is_current(sent):
            return
        for each, batch, told in answers_in(response, sent):
            self._answered(each, batch, told, response.node_endpoints, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Send the batches of a request again, with the same numbers: they may have been written."""
        sent: SentProduceRequest = request.context
        self._sensors.unanswered()
        if not self._is_current(sent):
            return
        if isinstance(error, UnsupportedVersionError):
            self._end(error)
            return
        for each, batch in sent.entries:
            each.batches.fail(batch, in_doubt=True)
            each.hold_back(now_ms)
            each.trouble = error if isinstance(error, KafkaGroupsError) else None
            self._sensors.retrying(batch.batch)
        self._cluster.refresh()

    def _is_current(self, sent: SentProduceRequest) -> bool:
        if sent.generation != self._generation:
            return False
        self._in_flight[sent.node_id] -= 1
        return True

    def _answered(
        self,
        each: ProducedPartition,
        sent: SentBatch,
        told: PartitionProduceResponse,
        endpoints: Sequence[NodeEndpoint],
        now_ms: int,
    ) -> None:
        if self._is_stopped:
            return
        outcome = self._outcome_of(told.error_code)
        if outcome is ProducerOutcome.DONE:
            self._confirmed(each, sent, told.base_offset, now_ms)
        elif outcome is ProducerOutcome.RETRY:
            self._failed(each, sent, told, endpoints, now_ms)
        elif outcome is ProducerOutcome.GAP:
            self._out_of_order(each, sent, told, now_ms)
        elif outcome in (ProducerOutcome.LOST, ProducerOutcome.FATAL):
            self._sensors.refused(sent.batch, sent.batch.count)
            self._end(self._error_of(told, each.name), is_fatal=outcome is ProducerOutcome.FATAL)
        else:
            self._refused(each, sent, told, outcome)
        if not each.batches:
            self._active.pop(each.name, None)

    def _outcome_of(self, code: ErrorCode) -> ProducerOutcome:
        if self._settings.holds_denied and code in DENIED:
            return ProducerOutcome.RETRY
        return outcome_of(ApiKey.PRODUCE, code, is_transactional=self._identity.is_transactional)

    def _confirmed(self, each: ProducedPartition, sent: SentBatch, base_offset: int, now_ms: int) -> None:
        batch = sent.batch
        each.batches.confirm(sent)
        each.backoff.succeeded()
        each.begin(now_ms)
        # Without ids in requests, a topic that was made again takes records as if nothing had happened. But nobody
        # writes the first record of a log in which this producer has written before.
        if self._is_by_name and self._logs.is_first_again(each.name, base_offset):
            each.has_begun_anew = True
            self._cluster.refresh()
            self._logs.tell_replaced(each.name)
            self._warn_made_again(each.name)
        self._logs.confirm(each.name, batch.last_tracked, base_offset)
        self._accumulator.release(batch)
        self.confirmed += batch.count
        self._outcomes.confirmed(batch)

    def _failed(
        self,
        each: ProducedPartition,
        sent: SentBatch,
        told: PartitionProduceResponse,
        endpoints: Sequence[NodeEndpoint],
        now_ms: int,
    ) -> None:
        code = told.error_code
        self._sensors.retrying(sent.batch)
        each.batches.fail(sent, in_doubt=code in IN_DOUBT)
        # KIP-951: with the new leader in the response, neither a question nor a wait is needed.
        if told.current_leader.leader_id >= 0 and self._cluster.topics.apply_hint(
            each.by_id, told.current_leader, endpoints
        ):
            return
        each.hold_back(now_ms)
        if code in NEW_LEADER:
            self._cluster.refresh()
        if code in MISSING_TOPIC:
            if self._gives_up(each, now_ms):
                return
        else:
            each.trouble = self._error_of(told, each.name)
        # A leader that has moved is the usual cause of a first failure, and not worth a warning. Neither are markers of
        # the transaction before: each commit has to wait for them, and leaders that are away delay them.
        if each.backoff.failures > 1 and code is not ErrorCode.CONCURRENT_TRANSACTIONS:
            text = sentences(f"Could not write to {each.name}", text_of_answer(told), "Retrying")
            self._warn(f"retry {each.name} {code.name}", text)

    def _out_of_order(
        self, each: ProducedPartition, sent: SentBatch, told: PartitionProduceResponse, now_ms: int
    ) -> None:
        self._sensors.retrying(sent.batch)
        if told.error_code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if not each.batches.fail_out_of_order(sent):
                return
        else:
            each.batches.fail(sent, in_doubt=False)
            each.batches.forget_numbers()
        each.hold_back(now_ms)
        self._check_epoch(each, told)
        text = sentences(
            f"{each.name}: the broker does not know the records that were written last", text_of_answer(told)
        )
        self._warn(f"gap {each.name}", text)

    def _refused(
        self, each: ProducedPartition, sent: SentBatch, told: PartitionProduceResponse, outcome: ProducerOutcome
    ) -> None:
        if outcome is ProducerOutcome.SPLIT:
            self._split(each, sent, told)
        elif outcome is ProducerOutcome.REFUSE_RECORDS and told.record_errors:
            self._refuse_some(each, sent, told)
        else:
            each.batches.refuse(sent, in_doubt=outcome is ProducerOutcome.REFUSE_IN_DOUBT)
            self._refuse(sent.batch, unnamed(self._error_of(told, each.name), sent.batch.count))
        self._check_epoch(each, told)

    def _split(self, each: ProducedPartition, sent: SentBatch, told: PartitionProduceResponse) -> None:
        batch = sent.batch
        if batch.count == 1:
            each.batches.refuse(sent, in_doubt=False)
            text = f"{each.name} takes no record of {batch.size_bytes:,} bytes"
            self._refuse(batch, too_large(text, limits_records=self._settings.limits_records))
            return
        halves = batch.halves()
        self._sensors.divided()
        self._accumulator.limit(each.name.topic, max(half.size_bytes for half in halves))
        self._replace(each, sent, halves)
        text = sentences(
            f"{each.name} takes no batch of {batch.size_bytes:,} bytes", text_of_answer(told), "Dividing it"
        )
        self._errors.events.note(Area.RECORDS, text)

    def _refuse_some(self, each: ProducedPartition, sent: SentBatch, told: PartitionProduceResponse) -> None:
        batch = sent.batch
        for record in told.record_errors:
            error = self._error_of(answer_about(told, record), each.name)
            self._outcomes.refused(batch, error, {record.batch_index})
        self._sensors.refused(batch, len(told.record_errors))
        rest = batch.without({record.batch_index for record in told.record_errors})
        self._replace(each, sent, () if rest is None else (rest,))

    def _error_of(self, told: PartitionProduceResponse, name: TopicPartition) -> KafkaGroupsError:
        return refusal_of(told, name, self._settings.principal, self._identity.transactional_id)

    def _replace(self, each: ProducedPartition, sent: SentBatch, parts: Sequence[ProducerBatch]) -> None:
        each.batches.replace(sent, parts)
        self._accumulator.release(sent.batch)
        for part in parts:
            self._accumulator.hold(part)

    def _refuse(self, batch: ProducerBatch, error: KafkaGroupsError) -> None:
        self._outcomes.refused(batch, error)
        self._sensors.refused(batch, batch.count)
        self._accumulator.release(batch)

    def _check_epoch(self, each: ProducedPartition, told: PartitionProduceResponse) -> None:
        # Only the coordinator raises the epoch of a transactional producer.
        if each.batches.needs_epoch and self._identity.is_transactional:
            self._end(self._error_of(told, each.name), is_fatal=False)

    def _warn(self, subject: str, text: str) -> None:
        self._errors.events.warn(Area.RECORDS, subject, text)

    # --------------------------------------------------------------------------------------------- end

    def _end(self, error: KafkaGroupsError, *, is_fatal: bool = True) -> None:
        """Write nothing any more: until `renew` if the transaction is lost, or for good."""
        if is_fatal:
            self._errors.report_fatal(error)
        self._identity.lose(error)
        self.drop()

    def drop(self) -> None:
        """Drop all records, and those that are written from now on, until `renew`."""
        self._generation += 1
        self._is_stopped = self._accumulator.is_ignoring = True
        self._accumulator.drop()
        self._active.clear()
        for each in self._partitions.values():
            self._note_topic(each)
        self._partitions.clear()
        self._in_flight.clear()

    def forget_logs(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget what was written to partitions. What happens to their topics before the next record is not told."""
        self._logs.forget(partitions)

    def renew(self) -> None:
        """Drop all records, and begin again. Give the identity another id or epoch, too: numbers begin with 0."""
        self.drop()
        self._is_stopped = self._accumulator.is_ignoring = False
        self.refusals.clear()
        self._logs.renew()
