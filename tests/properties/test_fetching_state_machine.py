"""A reader of records against a naive log, whatever happens to leaders, logs, topics and requests."""

from typing import Any

from attrs import define, field
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_groups.client.requests import ClientResponse
from kafka_groups.errors import DisconnectedError
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.limits import ReadingLimits
from kafka_groups.types import RecordRow, TopicPartition
from tests.support.naive_brokers import NaiveBrokers, NaivePartition

PLACES = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
places = st.sampled_from(PLACES)
BUFFER_BYTES = 900
LARGEST_BATCH = 120
"""A batch of three records. The first one of an answer comes even if it is larger than the room that is left."""


@define
class Reading:
    """What the reader was asked for, and what it has given: the model of one partition."""

    partition: NaivePartition
    start: int
    seen: int
    is_paused: bool = False
    rows: list[RecordRow] = field(factory=list)


class FetchingMachine(RuleBasedStateMachine):
    """The reader has to give each record that is visible once and in order, or to tell why it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.readings: dict[TopicPartition, Reading] = {}
        self.level = 0
        self.brokers = NaiveBrokers({})

    @initialize(level=st.integers(0, 1))
    def begin(self, level: int) -> None:
        limits = ReadingLimits(max_partition_bytes=150, buffer_bytes=BUFFER_BYTES)
        self.level = level
        self.brokers = NaiveBrokers({"a": 2, "b": 1}, FetchOptions(isolation_level=level, limits=limits))
        self.brokers.tell_metadata()

    # ------------------------------------------------------------------------------------------ the logs

    @rule(place=places, count=st.integers(1, 3), producer_id=st.none() | st.integers(1, 2), gap=st.integers(0, 1))
    def write(self, place: TopicPartition, count: int, producer_id: int | None, gap: int) -> None:
        log = self.brokers.partitions[place].log
        log.end_offset += gap  # as compaction leaves it between batches
        log.append([NewRecord(b"%d" % (log.end_offset + at), b"k") for at in range(count)], producer_id=producer_id)

    @rule(place=places, producer_id=st.integers(1, 2), is_commit=st.booleans())
    def end_transaction(self, place: TopicPartition, producer_id: int, is_commit: bool) -> None:
        self.brokers.partitions[place].log.end(producer_id, is_commit=is_commit)

    @rule(place=places, node_id=st.integers(1, 3))
    def move_leader(self, place: TopicPartition, node_id: int) -> None:
        self.brokers.partitions[place].lead(node_id)

    @rule(place=places, back=st.integers(1, 3))
    def truncate(self, place: TopicPartition, back: int) -> None:
        """A replica becomes leader that lacks some batches, but no part of a transaction that has ended."""
        found = self.brokers.partitions[place]
        offsets = [each.base_offset for each in found.log.batches[-back:]][:1]
        for offset in offsets:
            torn = [t for t in found.log.transactions if t.end_offset is not None and t.first_offset < offset]
            if all((t.end_offset or 0) < offset for t in torn):
                found.log.truncate(offset)
                found.lead(found.leader)

    @rule(place=places, count=st.integers(1, 3))
    def delete_records(self, place: TopicPartition, count: int) -> None:
        log = self.brokers.partitions[place].log
        for batch in log.batches[:count][-1:]:
            log.delete_before(min(batch.next_offset, log.stable_offset))

    @rule(topic=st.sampled_from(["a", "b"]))
    def make_again(self, topic: str) -> None:
        self.brokers.create(topic, 2 if topic == "a" else 1)

    @rule()
    def tell_metadata(self) -> None:
        self.brokers.tell_metadata()

    # -------------------------------------------------------------------------------------------- the reader

    @rule(place=places, data=st.data())
    def assign(self, place: TopicPartition, data: st.DataObject) -> None:
        found = self.brokers.partitions[place]
        self._assign(place, data.draw(st.integers(found.log.start_offset, found.log.end_offset)))

    def _assign(self, place: TopicPartition, start: int) -> None:
        self.readings[place] = Reading(self.brokers.partitions[place], start, start)
        self.brokers.reader.assign({place: start})

    @rule(place=places)
    def unassign(self, place: TopicPartition) -> None:
        self.readings.pop(place, None)
        self.brokers.reader.unassign([place])

    @rule(place=places, is_paused=st.booleans())
    def pause(self, place: TopicPartition, is_paused: bool) -> None:
        if place in self.readings:
            self.readings[place].is_paused = is_paused
        (self.brokers.reader.pause if is_paused else self.brokers.reader.resume)([place])

    @rule(ms=st.sampled_from([0, 100, 3_000]))
    def send(self, ms: int) -> None:
        self.brokers.now_ms += ms
        self.brokers.poll()

    @rule(is_answered=st.booleans(), data=st.data())
    @precondition(lambda self: bool(self.brokers.sent))
    def end_request(self, is_answered: bool, data: st.DataObject) -> None:
        brokers = self.brokers
        sent = brokers.sent.pop(data.draw(st.integers(0, len(brokers.sent) - 1)))
        if is_answered:
            answer = ClientResponse(brokers.response_to(sent), brokers.version, 1)
            brokers.reader.on_response(sent, answer, brokers.now_ms)
        else:
            brokers.reader.on_failure(sent, DisconnectedError("gone"), brokers.now_ms)

    @rule(most=st.integers(1, 5))
    def take(self, most: int) -> None:
        self._take(most)

    def _take(self, most: int) -> None:
        polled = self.brokers.reader.take(most, self.brokers.now_ms)
        for place, batch in polled.batches.items():
            reading, rows = self.readings[place], batch.rows()
            assert not reading.is_paused
            assert len(rows) == len(batch) > 0
            assert [row[0] for row in rows] == sorted({row[0] for row in rows})
            assert reading.seen <= rows[0][0]
            assert rows[-1][0] < batch.next_offset
            reading.rows += rows
            reading.seen = batch.next_offset
        for place, end in polled.ends.items():
            assert end <= self.readings[place].partition.log.end_offset or self._was_changed(place)
            self.readings[place].seen = max(self.readings[place].seen, end)
        for place in polled.out_of_range:
            self._lost(place, polled.changes.get(place))

    def _was_changed(self, place: TopicPartition) -> bool:
        reading = self.readings[place]
        return reading.partition is not self.brokers.partitions[place] or reading.partition.log.leader_epoch > 0

    def _lost(self, place: TopicPartition, change: Any) -> None:
        """The reader has ended a partition: this must be true, and no record may be lost up to there."""
        reading = self.readings.pop(place)
        log = reading.partition.log
        assert place not in self.brokers.reader.assigned
        if change is None:
            rows = log.rows(reading.start, is_committed_only=bool(self.level))
            assert reading.rows == rows[: len(reading.rows)]
            assert not log.start_offset <= reading.seen <= log.end_offset or reading.partition is not self._current(
                place
            )
        elif change.diverges_at is None:
            assert change.position >= reading.seen
        else:
            assert change.diverges_at < change.position
            kept = [row for row in reading.rows if row[0] < change.diverges_at]
            rows = log.rows(reading.start, is_committed_only=bool(self.level))
            assert kept == rows[: len(kept)]

    def _current(self, place: TopicPartition) -> NaivePartition:
        return self.brokers.partitions[place]

    # --------------------------------------------------------------------------------------------- the rules

    @invariant()
    def one_request_to_each_leader_is_under_way(self) -> None:
        nodes = [each.node_id for each in self.brokers.sent]
        assert len(nodes) == len(set(nodes))

    @invariant()
    def what_waits_is_bounded(self) -> None:
        assert self.brokers.reader.waiting_bytes <= BUFFER_BYTES + 3 * LARGEST_BATCH

    def teardown(self) -> None:
        """In the end, everything was read that there is."""
        for place, reading in self.readings.items():
            reading.is_paused = False
            self.brokers.reader.resume([place])
        for _ in range(60):
            self.brokers.tell_metadata()
            self.brokers.now_ms += 2_000
            self.brokers.turn()
            self._take(1_000_000)
        for reading in self.readings.values():
            log = reading.partition.log
            assert reading.rows == log.rows(reading.start, is_committed_only=bool(self.level))
            end = log.stable_offset if self.level else log.end_offset
            assert reading.seen >= max(
                (batch.next_offset for batch in log.batches if batch.next_offset <= end), default=0
            )


TestFetching = FetchingMachine.TestCase
