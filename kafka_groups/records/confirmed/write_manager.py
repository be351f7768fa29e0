"""The producers of all topics as one request manager, and the outcomes of their batches."""

from collections.abc import Callable, Collection, Iterable, Sequence

from attrs import evolve

from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import ClosedError, KafkaGroupsError
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.confirmed.room import PendingRecords, PendingWrite, WriterRoom
from kafka_groups.records.confirmed.topic_channels import TopicChannels
from kafka_groups.records.confirmed.topic_producer import TopicProducer, TopicProducerParts
from kafka_groups.records.confirmed.writes import WritableRecord

__all__ = ["WriteManager"]


class WriteManager:
    """Writes the records of rooms, each topic by itself, and tells the rooms about outcomes.

    It is the request manager, and the `RecordWriting` of rooms, and hears of batches.

    Args:
        parts: The parts of the producers.
        want: Has the metadata of these topics fetched, now and regularly.
        on_news: Called when rooms have something to tell; `deliver` has them tell it.
    """

    def __init__(
        self,
        parts: TopicProducerParts,
        want: Callable[[Iterable[str]], None],
        on_news: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._want = want
        self._on_news = on_news
        self._producers: dict[str, TopicProducer] = {}
        self._busy: dict[str, TopicProducer] = {}
        self._channels = TopicChannels()
        self._rooms: set[WriterRoom] = set()
        self._telling: dict[WriterRoom, None] = {}
        self._end: KafkaGroupsError | None = None
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<WriteManager of {len(self._producers)} topics, {len(self._busy)} of them busy>"

    @property
    def pending(self) -> int:
        """The number of records without an answer."""
        return sum(each.pending for each in self._busy.values())

    @property
    def held_bytes(self) -> int:
        """The bytes of all batches."""
        return sum(each.held_bytes for each in self._busy.values())

    # ----------------------------------------------------------------------------------------- writing

    def check_open(self) -> None:
        """Raise `ClosedError` if the writer is closed."""
        if self._is_closed:
            raise ClosedError("The writer is closed.")

    def add(self, records: Sequence[WritableRecord], write: PendingWrite) -> None:
        """Take the records of a write."""
        if self._end is not None:
            write.room.refuse(write, self._end, may_be_written=False)
            return
        self._rooms.add(write.room)
        for record in records:
            producer = self._busy.get(record.topic) or self._begin(record.topic)
            producer.write(record, write)
            if write.is_over:  # the record is too large for any request
                return

    def add_each(self, records: Sequence[WritableRecord], pending: PendingRecords) -> None:
        """Take records of one topic that have outcomes of their own."""
        if self._end is not None:
            pending.room.refuse(pending, self._end, may_be_written=False)
            return
        self._rooms.add(pending.room)
        topic = records[0].topic
        (self._busy.get(topic) or self._begin(topic)).write_each(records, pending)

    def _begin(self, topic: str) -> TopicProducer:
        producer = self._producers.get(topic)
        if producer is None:
            producer = self._producers[topic] = TopicProducer(topic, self._parts, self)
            self._want(tuple(self._producers))
        self._busy[topic] = producer
        return producer

    def drop_ended(self) -> None:
        """Drop the records of writes that have ended, as far as they were not sent, with the next requests."""
        for each in self._busy.values():
            each.drops_ended = True

    # ---------------------------------------------------------------------------------------- outcomes

    def confirmed(self, batch: ProducerBatch) -> None:
        """Note a batch that all in-sync replicas have."""
        for _, write in batch.origins:
            if isinstance(write, tuple):
                pending, position = write
                pending.confirm(position)
                continue
            assert isinstance(write, PendingWrite)  # noqa: S101 - records of rooms alone are written here
            write.left -= 1
            if not write.left and not write.is_over:
                write.room.confirm(write)

    def refused(self, batch: ProducerBatch, error: KafkaGroupsError, indexes: Collection[int] | None = None) -> None:
        """Note records of a batch that were refused; None as indexes: all of them."""
        refused: dict[PendingWrite, int] = {}
        for index, write in batch.origins:
            if indexes is None or index in indexes:
                if isinstance(write, tuple):
                    pending, position = write
                    write = pending.refuse(position, error, may_be_written=batch.may_be_written)  # noqa: PLW2901
                    if write is None:
                        continue
                assert isinstance(write, PendingWrite)  # noqa: S101 - records of rooms alone are written here
                refused[write] = refused.get(write, 0) + 1
        for write, count in refused.items():
            if not write.is_over:
                others = count < write.left and write.was_sent
                may_be_written = batch.may_be_written or write.left < write.count or others
                write.room.refuse(write, error, may_be_written=may_be_written)

    def note_news(self, room: WriterRoom) -> None:
        """Have a room deliver what it has to tell, soon."""
        if not self._telling and not self._is_closed:
            self._on_news()
        self._telling[room] = None

    def deliver(self) -> None:
        """Have rooms tell their owners what is new."""
        telling, self._telling = self._telling, {}
        for room in telling:
            room.deliver()

    # ----------------------------------------------------------------------------------------- driving

    def poll(self, now_ms: int) -> PollResult:
        """Return the requests of all topics."""
        fatal = self._parts.errors.fatal
        if fatal is not None and self._end is None:
            self._fail(fatal)
        requests: list[OutgoingRequest] = []
        wait_ms = NEVER_MS
        for topic, producer in tuple(self._busy.items()):
            result = producer.poll(now_ms)
            requests += (self._in_channel(topic, request) for request in result.requests)
            wait_ms = min(wait_ms, result.wait_ms)
            if producer.is_idle:
                del self._busy[topic]
        # Errors that pass are told to the rooms by what waits. Nobody else asks for them.
        self._parts.errors.waiting.clear()
        return PollResult(tuple(requests), wait_ms)

    def _in_channel(self, topic: str, request: OutgoingRequest) -> OutgoingRequest:
        assert request.node_id is not None  # noqa: S101 - Produce goes to leaders
        return evolve(request, channel=self._channels.take(request.node_id, topic))

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Handle the answer about each batch of a request."""
        self._answered(request).on_response(request, answer, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Send the batches of a request again."""
        self._answered(request).on_failure(request, error, now_ms)

    def _answered(self, request: OutgoingRequest) -> TopicProducer:
        assert request.node_id is not None  # noqa: S101 - Produce goes to leaders
        topic = self._channels.topic_of(request)
        self._channels.free(request.node_id, topic)
        return self._producers[topic]

    # --------------------------------------------------------------------------------------------- end

    def _fail(self, error: KafkaGroupsError) -> None:
        """Refuse all writes, those of the future, too."""
        self._end = error
        self._drop()
        for room in self._rooms:
            room.fail(error)

    def _drop(self) -> None:
        for each in self._producers.values():
            each.drop()
        self._busy.clear()

    def close(self) -> None:
        """Drop all records. Nobody hears of them any more."""
        self._is_closed = True
        self._telling.clear()
        self._drop()
