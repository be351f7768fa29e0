"""The producer of one topic: its batches and requests, records that wait for the topic, and why it waits."""

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    InvalidTopicError,
    KafkaGroupsError,
    MessageTooLargeError,
    NetworkError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.confirmed.room import Origin, PendingRecords, PendingWrite, WriterRoom, is_over, note_batch
from kafka_groups.records.confirmed.writes import WritableRecord
from kafka_groups.records.producing.accumulator import AccumulatorSettings, RecordAccumulator
from kafka_groups.records.producing.cluster_topics import ClusterTopics, ProducerCluster
from kafka_groups.records.producing.idempotent import IdempotentIdentity
from kafka_groups.records.producing.produce import ProduceManager
from kafka_groups.records.producing.produce_requests import ProducedPartition
from kafka_groups.records.producing.produce_settings import ProduceSettings
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.records.producing.refusal_texts import not_writable, with_remedy, without_id
from kafka_groups.records.producing.refusals import BatchOutcomes

__all__ = ["TopicProducer", "TopicProducerParts"]

_PATIENCE_MS: Final = 5_000
"""The longest time without a confirmation that is no outage. An election of a leader takes less."""
_CREATION_MS: Final = 1_000
"""The longest time that a topic may be missing, because a broker may be creating it."""
_LOOK_MS: Final = 500
"""The time between two looks at the records that wait."""
_LARGEST_REQUEST: Final = 100 * 1024 * 1024
"""Kafka's default of `socket.request.max.bytes`. A broker answers a larger request by closing the connection."""
_OUTAGES: Final = (TopicAuthorizationFailedError, ClusterAuthorizationFailedError, UnknownTopicOrPartitionError)
"""Errors that only somebody else can end, so there is no reason to wait before the owners hear of them."""


@frozen
class TopicProducerParts:
    """The parts that the producers of all topics share.

    Attributes:
        batches: Sizes and times of batches.
        requests: The settings of requests.
        topics: What is known of the cluster.
        refresh: Has the metadata fetched again soon.
        identity: The producer's id and epoch, which all topics have.
        rng: Chooses partitions of records without a key.
        errors: Receives events, and errors that no retry will help.
        new_backoff: Returns a new back-off.
        sensors: Receives counts and times.
        on_news: Called when something may have to be sent.
        wall_ms: Returns the time since the epoch.
    """

    batches: AccumulatorSettings
    requests: ProduceSettings
    topics: ClusterTopics
    refresh: Callable[[], None]
    identity: IdempotentIdentity
    rng: random.Random
    errors: BackgroundErrors
    new_backoff: Callable[[], BackoffTimer]
    sensors: ProducerSensors
    on_news: Callable[[], None]
    wall_ms: Callable[[], int]


class TopicProducer:
    """Writes the records of all rooms to one topic. What happens to other topics does not matter here.

    Records wait while the number of the topic's partitions is not known. Nothing is given up by time.

    Args:
        topic: The topic.
        parts: The parts that are shared.
        outcomes: Hears of each batch that was written or refused.

    Attributes:
        rooms: The rooms that have written to it.
        drops_ended: Whether writes have ended since the last poll, by a withdrawal or a refusal. Their records are
            dropped, as far as they were not sent.
    """

    def __init__(self, topic: str, parts: TopicProducerParts, outcomes: BatchOutcomes) -> None:
        self._topic = topic
        self._parts = parts
        self._accumulator = RecordAccumulator(
            parts.batches, parts.topics.partition_count, parts.rng, parts.on_news, parts.sensors
        )
        self._accumulate = self._accumulator.write
        cluster = ProducerCluster(parts.topics, parts.refresh, _ignore_topics, _ignore_counts)
        self._produce = ProduceManager(
            self._accumulator,
            parts.identity,
            cluster,
            parts.requests,
            parts.errors,
            parts.new_backoff,
            parts.sensors,
            outcomes,
        )
        self._lookup = parts.new_backoff()
        self._parked: deque[tuple[WritableRecord, Origin]] = deque()
        self._parked_since_ms: int | None = None
        self._is_known = False
        self._held: KafkaGroupsError | None = None
        self._next_look_ms = 0
        self._seen = 0
        self.rooms: dict[WriterRoom, None] = {}
        self.drops_ended = False

    def __repr__(self) -> str:
        state = "" if self._held is None else f", held: {self._held}"
        return f"<TopicProducer of {self._topic}: {self.pending} records{state}>"

    @property
    def pending(self) -> int:
        """The number of records without an answer."""
        return self._produce.pending + len(self._parked)

    @property
    def is_idle(self) -> bool:
        """True if no record waits, and no room believes that some do."""
        return self._produce.is_flushed and not self._parked and self._held is None

    @property
    def held_bytes(self) -> int:
        """The bytes of its batches."""
        return self._accumulator.held_bytes

    # ----------------------------------------------------------------------------------------- writing

    def write(self, record: WritableRecord, write: PendingWrite) -> None:
        """Add a record."""
        self._enter(write.room)
        self._write(record, write)

    def write_each(self, records: Sequence[WritableRecord], pending: PendingRecords) -> None:
        """Add records that have outcomes of their own."""
        self._enter(pending.room)
        if not self._is_known:
            for position, record in enumerate(records):
                self._write(record, (pending, position))
            return
        # What `_write` does for one record, with as little as possible for each.
        accumulate, topic, wall_ms, last = self._accumulate, self._topic, self._parts.wall_ms(), None
        for position, record in enumerate(records):
            given_ms = record.timestamp_ms
            timestamp_ms = wall_ms if given_ms is None else given_ms
            origin = (pending, position)
            try:
                batch = accumulate(
                    topic, record.key, record.value, timestamp_ms, record.headers, record.partition, origin
                )
            except MessageTooLargeError as error:
                self._refuse(origin, error)
                continue
            if batch is not None and batch is not last:
                last = batch
                note_batch(origin, batch)

    def _enter(self, room: WriterRoom) -> None:
        if room not in self.rooms:
            self.rooms[room] = None
            if self._held is not None:
                room.hold(self._topic, self._held)

    def _write(self, record: WritableRecord, origin: Origin) -> None:
        if self._is_known:
            timestamp_ms = record.timestamp_ms
            if timestamp_ms is None:
                timestamp_ms = self._parts.wall_ms()
            try:
                batch = self._accumulate(
                    self._topic, record.key, record.value, timestamp_ms, record.headers, record.partition, origin
                )
            except MessageTooLargeError as error:
                self._refuse(origin, error)
                return
            if batch is not None:
                note_batch(origin, batch)
            return
        self._parked.append((record, origin))
        if len(self._parked) == 1:
            self._parts.on_news()

    def _refuse(self, origin: Origin, error: KafkaGroupsError) -> None:
        write = origin if isinstance(origin, PendingWrite) else origin[0].refuse(origin[1], error, may_be_written=False)
        if write is not None and not write.is_over:
            write.room.refuse(write, error, may_be_written=write.was_sent or write.left < write.count)

    def drop(self) -> None:
        """Drop all records."""
        self._produce.drop()
        self._parked.clear()

    # ----------------------------------------------------------------------------------------- driving

    def poll(self, now_ms: int) -> PollResult:
        """Return the requests that can be sent now, and how long to wait until the next look."""
        if self.drops_ended:
            self._drop_ended(now_ms)
        wait_ms = self._unpark(now_ms) if self._parked else NEVER_MS
        result = self._produce.poll(now_ms)
        self._look(now_ms)
        wait_ms = min(wait_ms, result.wait_ms, NEVER_MS if self.is_idle else self._next_look_ms - now_ms)
        return PollResult(result.requests, wait_ms)

    def _drop_ended(self, now_ms: int) -> None:
        self.drops_ended = False
        self._parked = deque(each for each in self._parked if not is_over(each[1]))
        self._produce.withdraw(is_over, now_ms)

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Handle the answer about each batch of a request."""
        self._produce.on_response(request, answer, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Send the batches of a request again."""
        self._produce.on_failure(request, error, now_ms)

    # ------------------------------------------------------------------------- records without a partition

    def _unpark(self, now_ms: int) -> int:
        """Give records their partitions if those are known. Otherwise returns how long to wait."""
        if self._parts.topics.partition_count(self._topic) is not None:
            self._is_known = True  # for good: the metadata keeps the number of a topic that is missing
            parked, self._parked = self._parked, deque()
            self._parked_since_ms = None
            for record, origin in parked:
                self._write(record, origin)
            return NEVER_MS
        if self._parked_since_ms is None:
            self._parked_since_ms = now_ms
        code = self._parts.topics.error_of(self._topic)
        if code is ErrorCode.INVALID_TOPIC_EXCEPTION:
            self._refuse_parked(with_remedy(InvalidTopicError(f"Invalid topic name {self._topic!r}. Use another one.")))
        elif code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return self._look_up(now_ms)
        return NEVER_MS

    def _look_up(self, now_ms: int) -> int:
        # Topics that do not exist are asked for again by the metadata's own manager, but not those that are denied.
        if not self._lookup.remaining_ms(now_ms):
            self._lookup.failed(now_ms)
            self._parts.refresh()
        return self._lookup.remaining_ms(now_ms)

    def _refuse_parked(self, error: KafkaGroupsError) -> None:
        for _, origin in self._parked:
            self._refuse(origin, error)
        self._parked.clear()
        self._parked_since_ms = None

    # ------------------------------------------------------------------------------------------- holds

    def _look(self, now_ms: int) -> None:
        """Tell the rooms if records begin to wait, or do not wait any more."""
        confirmed = self._produce.confirmed
        has_news = self._held is not None and confirmed != self._seen
        if now_ms < self._next_look_ms and not has_news:
            return
        self._seen, self._next_look_ms = confirmed, now_ms + _LOOK_MS
        trouble = self._trouble(now_ms)
        if (trouble is None) == (self._held is None):
            return
        self._held = trouble
        for room in self.rooms:
            room.hold(self._topic, trouble)

    def _trouble(self, now_ms: int) -> KafkaGroupsError | None:
        if self._parked:
            return self._trouble_of_parked(now_ms)
        if self._parts.identity.denied is not None and not self._produce.is_flushed:
            denied = ErrorCode(self._parts.identity.denied.code)
            return without_id(denied, (self._topic,), self._parts.requests.principal)
        for each in self._produce.active:
            waited_ms = now_ms - each.waits_since_ms
            if isinstance(each.trouble, _OUTAGES):
                return each.trouble
            if waited_ms >= _PATIENCE_MS:
                return _too_large_for_brokers(each) or each.trouble or self._silence(waited_ms)
        return None

    def _trouble_of_parked(self, now_ms: int) -> KafkaGroupsError | None:
        waited_ms = 0 if self._parked_since_ms is None else now_ms - self._parked_since_ms
        topics = self._parts.topics
        if topics.error_of(self._topic) is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return not_writable(self._topic, self._parts.requests.principal)
        if topics.is_missing(self._topic) and waited_ms >= _CREATION_MS:
            text = f"Topic {self._topic!r} does not exist, so its records wait. Create the topic, or check its name."
            return with_remedy(UnknownTopicOrPartitionError(text))
        return self._silence(waited_ms) if waited_ms >= _PATIENCE_MS else None

    def _silence(self, waited_ms: int) -> KafkaGroupsError:
        return OperationTimeoutError(
            f"No record of {self._topic} was confirmed for {waited_ms // 1_000} s, although some wait. Are all brokers"
            " up?"
        )


def _too_large_for_brokers(each: ProducedPartition) -> KafkaGroupsError | None:
    """Return the error for a record that may be the reason why brokers close the connection; None for other trouble."""
    first = each.batches.sent[0].batch if each.batches.sent else None
    if first is None or first.size_bytes <= _LARGEST_REQUEST or not isinstance(each.trouble, NetworkError):
        return None
    return with_remedy(
        MessageTooLargeError(
            f"A record for {each.name} has {first.size_bytes:,} bytes, and the broker closes the connection. Allow"
            f" larger requests (socket.request.max.bytes of the brokers, {_LARGEST_REQUEST:,} by default), or make"
            " records smaller."
        )
    )


def _ignore_topics(_topics: Iterable[str]) -> None:
    """Do nothing: the topic is wanted since its first record."""


def _ignore_counts(_counts: Mapping[str, int]) -> None:
    """Do nothing: the metadata has the number of partitions."""
