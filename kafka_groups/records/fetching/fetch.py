"""Fetches assigned partitions from their leaders: a request manager, which holds what was fetched until it is taken."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from uuid import UUID

from attrs import define, evolve, field, frozen

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Area, Events
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import NEVER_MS, ClientResponse, Lane, OutgoingRequest, PollResult
from kafka_groups.errors import KafkaGroupsError, LeaderNotAvailableError, UnknownTopicOrPartitionError, error_for
from kafka_groups.errors.texts import counted
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import (
    READ_COMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafka_groups.protocol.messages.leadership import NO_LEADER_EPOCH, NodeEndpoint
from kafka_groups.records.fetching.limits import PartitionSize, ReadingLimits
from kafka_groups.records.fetching.partition import OUTAGE_MS, Ending, ReadPartition
from kafka_groups.records.fetching.positions import FetchPosition
from kafka_groups.records.fetching.reader_sensors import ReaderSensors
from kafka_groups.records.fetching.validating import FetchOutcome, failure_of, outcome_of
from kafka_groups.records.interface import NO_EPOCHS, LogChange, PolledBatch, PolledRecords
from kafka_groups.types import TopicIdPartition, TopicPartition

__all__ = ["FetchManager", "FetchOptions"]

_FIRST_WITH_LAST_EPOCH: Final = 12
_FIRST_WITH_TOPIC_IDS: Final = 13
_CROWDED_WAIT_MS: Final = 100
"""The longest wait at a leader for records while another partition of it has no room: that may change soon."""

_REPLICA_MS: Final = 300_000
"""The time to fetch from the replica that a leader has named, before the leader is asked again."""


@frozen(kw_only=True)
class FetchOptions:
    """The settings of a reader.

    Attributes:
        limits: Sizes, and the room for what waits.
        isolation_level: 0 for all records, 1 for those of committed transactions and of none.
        rack: The rack of the reader, to read from a replica there (KIP-392); "" for none.
        check_crcs: Whether to verify checksums.
        request_timeout_ms: How long to wait for a response.
        lane: The connection to each broker.
        principal: Who reads, for messages about missing rights; None if it is not known here.
    """

    limits: ReadingLimits = field(factory=ReadingLimits)
    isolation_level: int = READ_COMMITTED
    rack: str = ""
    check_crcs: bool = True
    request_timeout_ms: int = 30_000
    lane: Lane = Lane.DATA
    principal: str | None = None


@frozen(eq=False)
class _AskedPartition:
    """A partition in a request that is under way."""

    state: ReadPartition
    position: FetchPosition
    leader_epoch: int
    max_bytes: int


@define(eq=False)
class _FetchSource:
    """A broker that is fetched from."""

    node_id: int
    backoff: BackoffTimer
    asked: dict[TopicPartition, _AskedPartition] | None = None
    sent_ms: int = 0
    failing_since_ms: int | None = None


@define(eq=False)
class _Due:
    """The partitions to fetch in this turn, by broker, and when there may be others."""

    share: int
    partitions: dict[int, dict[TopicPartition, _AskedPartition]] = field(factory=dict)
    crowded: set[int] = field(factory=set)
    wait_ms: int = NEVER_MS


class FetchManager:
    """Fetches partitions, and tells what has arrived.

    One request to each leader is under way, and the next one follows at once: nobody has to take the records first,
    unless their room is used up. There are no fetch sessions.

    Args:
        metadata: Leaders and ids of the topics. Somebody else keeps the topics of the partitions fresh in it.
        refresh: Asks for the metadata again.
        backoff: Makes back-offs.
        events: Receives warnings.
        options: The settings.
        sensors: Receives counts and times.
    """

    def __init__(
        self,
        metadata: Metadata,
        refresh: Callable[[], None],
        backoff: Callable[[], BackoffTimer],
        events: Events,
        options: FetchOptions,
        sensors: ReaderSensors,
    ) -> None:
        self._metadata = metadata
        self._refresh = refresh
        self._backoff = backoff
        self._events = events
        self._options = options
        self._sensors = sensors
        self._partitions: dict[TopicPartition, ReadPartition] = {}
        self._news: dict[TopicPartition, ReadPartition] = {}
        self._sources: dict[int, _FetchSource] = {}
        self._failures: dict[TopicPartition | int, KafkaGroupsError] = {}
        self._former: set[UUID] = set()
        self._seen_version = -1

    def __repr__(self) -> str:
        return f"<FetchManager of {', '.join(map(str, sorted(self._partitions))) or 'nothing'}>"

    # -------------------------------------------------------------------------------------- assignment

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that are read."""
        return frozenset(self._partitions)

    def assign(self, starts: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] = NO_EPOCHS) -> None:
        """Read more partitions, or assigned ones from another offset on.

        Args:
            starts: The offsets.
            epochs: The leader epochs of the records before them, as far as they are known.
        """
        for place, offset in starts.items():
            self._forget(place)
            # Where the batches of the epoch begin is not known, so only the leader's end of it counts, as in Java.
            epoch = epochs.get(place, NO_LEADER_EPOCH)
            position = FetchPosition(offset, self.topic_id(place.topic), epoch, offset)
            size = PartitionSize(self._options.limits.max_partition_bytes)
            self._partitions[place] = ReadPartition(place, position, size, self._backoff(), offset)

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading partitions, and drop what was fetched of them."""
        for place in partitions:
            self._forget(place)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch and tell nothing of some partitions for now. What was fetched waits."""
        for place in partitions:
            if place in self._partitions:
                self._partitions[place].is_paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch again after `pause`, and tell what waits."""
        for place in partitions:
            if place in self._partitions:
                self._partitions[place].is_paused = False

    def _forget(self, place: TopicPartition) -> None:
        self._partitions.pop(place, None)
        self._news.pop(place, None)
        self._failures.pop(place, None)

    # ------------------------------------------------------------------------------------------ taking

    @property
    def has_news(self) -> bool:
        """True if there is something to take, or a failure to raise."""
        return bool(self._failures) or any(each.has_news for each in self._news.values())

    @property
    def waiting_bytes(self) -> int:
        """The bytes of batches that were fetched and not taken."""
        return sum(each.waiting_bytes for each in self._partitions.values())

    def raise_failure(self) -> None:
        """Raise an error of a partition or a broker, once, if there is one.

        Raises:
            KafkaGroupsError: If it is retriable, fetching continues. Otherwise the partition is not read any more.
        """
        for what in tuple(self._failures):
            raise self._failures.pop(what)

    def take(self, most: int, now_ms: int) -> PolledRecords:
        """Take what has arrived: whole batches, until there are so many records.

        Args:
            most: How many records are enough.
            now_ms: Monotonic time.
        """
        batches: dict[TopicPartition, PolledBatch] = {}
        ends: dict[TopicPartition, int] = {}
        lost: list[TopicPartition] = []
        changes: dict[TopicPartition, LogChange] = {}
        for place, state in tuple(self._news.items()):
            if (found := state.take(most, now_ms, check_crcs=self._options.check_crcs)) is not None:
                batches[place] = found
                count = len(found)
                most = max(most - count, 0)
                self._sensors.taken(count, found.size_bytes, state.lag)
            if (end := state.new_end()) is not None:
                ends[place] = end
            if state.is_over:
                self._tell(state, lost, changes)
            elif found is not None:
                self._news[place] = self._news.pop(place)  # the others come first the next time
            if not state.has_news and not state.is_paused:
                self._news.pop(place, None)
        return PolledRecords(batches, ends, tuple(lost), changes)

    def _tell(self, state: ReadPartition, lost: list[TopicPartition], changes: dict[TopicPartition, LogChange]) -> None:
        place, ending = state.partition, state.ending
        self._forget(place)
        if ending is None:
            return
        if ending.error is not None:
            self._failures[place] = ending.error
            return
        lost.append(place)
        if ending.change is not None:
            changes[place] = ending.change

    # ----------------------------------------------------------------------------------------- sending

    def poll(self, now_ms: int) -> PollResult:
        """Return a fetch for each leader without one in flight, of the partitions that have room."""
        self._look_at_metadata()
        due = _Due(self._options.limits.share(len(self._partitions)))
        for state in self._partitions.values():
            if state.ending is None and not state.is_paused:
                self._add_due(state, due, now_ms)
        return PollResult(tuple(self._requests(due, now_ms)), due.wait_ms)

    def _add_due(self, state: ReadPartition, due: _Due, now_ms: int) -> None:
        """Add a partition to those that are due, or note when it may be."""
        if (remaining_ms := state.retry.remaining_ms(now_ms)) > 0:
            due.wait_ms = min(due.wait_ms, remaining_ms)
            return
        node_id = self._source_of(state, now_ms)
        if node_id is None:
            self._find_leader(state, now_ms)
            due.wait_ms = min(due.wait_ms, state.retry.remaining_ms(now_ms))
        elif max_bytes := state.may_fetch(due.share):
            asked = _AskedPartition(state, state.position, self._epoch_of(state), max_bytes)
            due.partitions.setdefault(node_id, {})[state.partition] = asked
        else:
            due.crowded.add(node_id)

    def _requests(self, due: _Due, now_ms: int) -> Iterator[OutgoingRequest]:
        for node_id, partitions in due.partitions.items():
            source = self._source(node_id)
            if source.asked is not None:
                continue
            if (remaining_ms := source.backoff.remaining_ms(now_ms)) > 0:
                due.wait_ms = min(due.wait_ms, remaining_ms)
            else:
                source.sent_ms = now_ms
                yield self._request(source, partitions, is_crowded=node_id in due.crowded)

    def _source(self, node_id: int) -> _FetchSource:
        if node_id not in self._sources:
            self._sources[node_id] = _FetchSource(node_id, self._backoff())
        return self._sources[node_id]

    def _source_of(self, state: ReadPartition, now_ms: int) -> int | None:
        if state.replica is not None:
            node_id, until_ms = state.replica
            if now_ms < until_ms and node_id in self._metadata.nodes:
                return node_id
            state.replica = None
        key = self._key(state)
        return None if key is None else self._metadata.leader_of(key)

    def _epoch_of(self, state: ReadPartition) -> int:
        key = self._key(state)
        return -1 if key is None else self._metadata.epoch_of(key)

    @staticmethod
    def _key(state: ReadPartition) -> TopicIdPartition | None:
        topic_id, place = state.position.topic_id, state.partition
        return None if topic_id is None else TopicIdPartition(topic_id, place.partition, place.topic)

    def _request(
        self, source: _FetchSource, partitions: dict[TopicPartition, _AskedPartition], *, is_crowded: bool
    ) -> OutgoingRequest:
        options, limits = self._options, self._options.limits
        source.asked = partitions

        def build(version: int) -> FetchRequest:
            return FetchRequest(
                max_wait_ms=min(limits.max_wait_ms, _CROWDED_WAIT_MS) if is_crowded else limits.max_wait_ms,
                min_bytes=limits.min_bytes,
                max_bytes=limits.max_bytes,
                isolation_level=options.isolation_level,
                topics=tuple(_topics(partitions, version)),
                rack_id=options.rack,
            )

        return OutgoingRequest(
            ApiKey.FETCH, build, source.node_id, options.request_timeout_ms, context=source, lane=options.lane
        )

    # ---------------------------------------------------------------------------------------- metadata

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, UUID]:
        """Return the ids of the topics that partitions are read from, as far as they are read and known.

        They may have been replaced since: `take` tells it.
        """
        read = {place: self._partitions[place] for place in partitions if place in self._partitions}
        return {place: topic_id for place, state in read.items() if (topic_id := state.position.topic_id) is not None}

    def leader_epochs(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the leader epochs of the records before these offsets, as far as they are known."""
        read = {self._partitions[place]: offset for place, offset in positions.items() if place in self._partitions}
        found = {state.partition: state.epochs.before(offset) for state, offset in read.items()}
        return {place: epoch for place, epoch in found.items() if epoch >= 0}

    def changed(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Return those partitions whose log is another one now. `take` tells it when all that was fetched is taken."""
        read = (self._partitions[place] for place in partitions if place in self._partitions)
        return frozenset(each.partition for each in read if each.ending is not None and each.ending.change is not None)

    def topic_id(self, topic: str) -> UUID | None:
        """Return the id of a topic. Brokers that lag behind still return the one before: it does not count."""
        topic_id = self._metadata.id_of(topic)
        return None if topic_id in self._former else topic_id

    def _look_at_metadata(self) -> None:
        """Notice leaders that are known now, and topics that were deleted and made again."""
        if self._seen_version == self._metadata.version:
            return
        self._seen_version = self._metadata.version
        for state in self._partitions.values():
            self._look_at_id(state)
            if state.seeks_leader:
                state.seeks_leader = False
                state.retry.succeeded()

    def _look_at_id(self, state: ReadPartition) -> None:
        topic_id, ours = self.topic_id(state.partition.topic), state.position.topic_id
        if topic_id is None or topic_id == ours:
            return
        if ours is None:
            state.position = evolve(state.position, topic_id=topic_id)
        elif state.ending is None or not state.is_over:
            self._former.add(ours)
            # What was fetched of the topic before has no successor, and its offset must not be committed.
            self._change(state, LogChange(state.taken))

    def _find_leader(self, state: ReadPartition, now_ms: int) -> None:
        """Look for the leader of a partition."""
        self._later(state, self._obstacle(state.partition), now_ms)
        state.seeks_leader = True
        self._refresh()

    def _obstacle(self, place: TopicPartition) -> KafkaGroupsError:
        count = self._metadata.partition_count(place.topic)
        if self._metadata.is_missing(place.topic):
            return UnknownTopicOrPartitionError(f"{place} cannot be read: the topic does not exist")
        if count is None:
            return LeaderNotAvailableError(f"{place} cannot be read: no broker has told its leader yet")
        if place.partition >= count:
            return UnknownTopicOrPartitionError(f"{place} cannot be read: the topic has {counted(count, 'partition')}")
        return LeaderNotAvailableError(f"{place} cannot be read: it has no leader")

    # --------------------------------------------------------------------------------------- answers

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Take in the records of each partition, or find out why there are none."""
        source: _FetchSource = request.context
        asked, source.asked = source.asked or {}, None
        source.failing_since_ms = None
        source.backoff.succeeded()
        response: FetchResponse = answer.message
        # KIP-219: the broker has answered at once, and expects us to wait.
        source.backoff.wait(response.throttle_time_ms, now_ms)
        self._failures.pop(source.node_id, None)
        if response.error_code is not ErrorCode.NONE:
            self._source_failed(source, asked, error_for(response.error_code, response.error_code.name), now_ms)
        else:
            self._handle(response, asked, source, now_ms)
        self._sensors.answered(now_ms - source.sent_ms, response.throttle_time_ms)

    def _handle(
        self,
        response: FetchResponse,
        asked: Mapping[TopicPartition, _AskedPartition],
        source: _FetchSource,
        now_ms: int,
    ) -> None:
        names = {each.position.topic_id: place.topic for place, each in asked.items()}
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                each = asked.get(TopicPartition(name, data.partition_index))
                if each is not None and self._is_current(each):
                    self._answered(each, data, response.node_endpoints, source, now_ms)

    def _is_current(self, asked: _AskedPartition) -> bool:
        """Return False if the partition was assigned again, or continues elsewhere, while the request was under way."""
        state = asked.state
        return (
            self._partitions.get(state.partition) is state and state.ending is None and state.position == asked.position
        )

    def _answered(
        self,
        asked: _AskedPartition,
        data: PartitionData,
        endpoints: tuple[NodeEndpoint, ...],
        source: _FetchSource,
        now_ms: int,
    ) -> None:
        state, outcome = asked.state, outcome_of(data)
        if outcome is FetchOutcome.TAKE:
            self._take_in(asked, data, source, now_ms)
        elif state.replica is not None:
            # Whatever a replica refuses, the leader decides. It may name the same replica again.
            state.replica = None
            state.retry.failed(now_ms)
        elif outcome is FetchOutcome.DIVERGED:
            self._diverged(state, data)
        elif outcome is FetchOutcome.OUT_OF_RANGE:
            self._out_of_range(asked, now_ms)
        elif outcome is FetchOutcome.FAIL:
            self._end(state, Ending(self._failure(state, data.error_code)))
        elif outcome is not FetchOutcome.FIND_LEADER or not self._has_hint(asked, data, endpoints):
            if outcome is not FetchOutcome.ASK_AGAIN:
                state.seeks_leader = True
                self._refresh()
            self._later(state, self._failure(state, data.error_code), now_ms)

    def _failure(self, state: ReadPartition, code: ErrorCode) -> KafkaGroupsError:
        return failure_of(code, state.partition, state.position.offset, self._options.principal)

    def _take_in(self, asked: _AskedPartition, data: PartitionData, source: _FetchSource, now_ms: int) -> None:
        state = asked.state
        self._failures.pop(state.partition, None)
        is_committed_only = self._options.isolation_level == READ_COMMITTED
        end = data.last_stable_offset if is_committed_only else data.high_watermark
        if data.preferred_read_replica >= 0 and data.preferred_read_replica != source.node_id:
            state.replica = data.preferred_read_replica, now_ms + _REPLICA_MS
        self._sensors.arrived(state.accept(data, end, asked.leader_epoch, now_ms))
        if data.records:
            # Those that had records come last in the next request, so that none starves (KIP-74).
            self._partitions[state.partition] = self._partitions.pop(state.partition)
        if state.has_news or state.waiting_bytes:
            self._news[state.partition] = state

    def _has_hint(self, asked: _AskedPartition, data: PartitionData, endpoints: tuple[NodeEndpoint, ...]) -> bool:
        """Take the leader that a response names (KIP-951). Return whether it is newer than the one that was asked."""
        key = self._key(asked.state)
        if key is None or data.current_leader.leader_id < 0:
            return False
        self._metadata.apply_hint(key, data.current_leader, endpoints)
        return self._metadata.epoch_of(key) > asked.leader_epoch and self._metadata.leader_of(key) is not None

    def _diverged(self, state: ReadPartition, data: PartitionData) -> None:
        found = data.diverging_epoch
        offset = state.position.divergence(found)
        # What was fetched and not taken is dropped in silence. What was taken is data loss: users have to hear of it.
        if offset >= state.taken:
            state.go_back(state.position.back_to(offset, found.epoch))
        else:
            self._change(state, LogChange(state.taken, offset))

    def _change(self, state: ReadPartition, change: LogChange) -> None:
        """End a partition whose log is another one. Who polls it decides where to go on, and warns."""
        self._events.note(Area.RECORDS, change.described(state.partition))
        self._end(state, Ending(change=change), is_dropped=True)

    def _out_of_range(self, asked: _AskedPartition, now_ms: int) -> None:
        state = asked.state
        # A leader that is new may not know how far the log is committed. It is asked once more, after metadata.
        if state.read_epoch is not None and state.read_epoch != asked.leader_epoch:
            state.read_epoch = asked.leader_epoch
            state.retry.failed(now_ms)
            self._refresh()
            return
        ended = "" if state.end is None else f" It ended at offset {state.end} when it was read last."
        text = f"The log of {state.partition} does not have offset {state.position.offset}.{ended}"
        self._events.note(Area.RECORDS, text)
        self._end(state, Ending())

    def _end(self, state: ReadPartition, ending: Ending, *, is_dropped: bool = False) -> None:
        state.end_with(ending, is_dropped=is_dropped)
        self._news[state.partition] = state

    def _later(self, state: ReadPartition, error: KafkaGroupsError, now_ms: int) -> None:
        if state.note_failure(now_ms):
            self._failures[state.partition] = error

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Fetch again after the back-off, from the leaders of then."""
        source: _FetchSource = request.context
        asked, source.asked = source.asked or {}, None
        failure = error if isinstance(error, KafkaGroupsError) else KafkaGroupsError(str(error))
        self._source_failed(source, asked, failure, now_ms)

    def _source_failed(
        self,
        source: _FetchSource,
        asked: Mapping[TopicPartition, _AskedPartition],
        error: KafkaGroupsError,
        now_ms: int,
    ) -> None:
        for each in asked.values():
            each.state.replica = None
        source.backoff.failed(now_ms)
        self._refresh()
        if source.failing_since_ms is None:
            source.failing_since_ms = now_ms
        if not error.retriable or now_ms - source.failing_since_ms >= OUTAGE_MS:
            self._failures[source.node_id] = error


def _topics(partitions: Mapping[TopicPartition, _AskedPartition], version: int) -> Iterator[FetchTopic]:
    by_topic: dict[str, list[_AskedPartition]] = {}
    for place, each in partitions.items():
        by_topic.setdefault(place.topic, []).append(each)
    for topic, asked in by_topic.items():
        found = tuple(
            FetchPartition(
                partition=each.state.partition.partition,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.position.offset,
                last_fetched_epoch=each.position.leader_epoch if version >= _FIRST_WITH_LAST_EPOCH else -1,
                partition_max_bytes=each.max_bytes,
            )
            for each in asked
        )
        if version >= _FIRST_WITH_TOPIC_IDS:
            yield FetchTopic(topic_id=asked[0].position.topic_id, partitions=found)
        else:
            yield FetchTopic(topic=topic, partitions=found)
