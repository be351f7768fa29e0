"""The rules of dead letters (KIP-1191): how deliveries end, which records get a letter, and what a letter says."""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from attrs import frozen

from kafka_groups.broker.share_partitions.delivery_limits import DeliveryLimits
from kafka_groups.broker.share_partitions.record_state import RecordEvent, RecordState
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.record_builder import (
    BATCH_OVERHEAD_BYTES,
    NewRecord,
    record_bytes,
    sized_bytes,
    varint_bytes,
)
from kafka_groups.types import AcknowledgeType, Header

__all__ = [
    "DeadLetterReason",
    "DeadLetterRun",
    "DeliveryEnds",
    "LetterBatch",
    "LetterSource",
    "RecordCopy",
    "first_batch",
    "rejected_ranges",
    "runs_left_over",
    "runs_of_change",
]


@frozen
class DeliveryEnds:
    """The rules by which deliveries of a group end.

    Attributes:
        limits: The group's delivery limits.
        has_queue: Whether the group has a dead-letter queue.
    """

    limits: DeliveryLimits
    has_queue: bool

    @classmethod
    def of(cls, config: ShareGroupConfig) -> "DeliveryEnds":
        """Return the rules that follow from a group's configuration."""
        return cls(DeliveryLimits(config.delivery_count_limit), bool(config.errors_deadletterqueue_topic_name))

    def event(self, event: RecordEvent, delivery_count: int) -> RecordEvent:
        """Return the event that an acknowledgement or the end of a lock is for a record with this delivery count."""
        # At the limit a release archives the record (KIP-932, "In-flight records"; InFlightState.tryUpdateState in
        # Kafka).
        if event is RecordEvent.RELEASE and self.limits.is_exhausted(delivery_count):
            event = RecordEvent.EXHAUST
        # A gap has no record that a letter could be about.
        if self.has_queue and event in (RecordEvent.REJECT, RecordEvent.EXHAUST):
            return RecordEvent.DEAD_LETTER
        return event


class DeadLetterReason(enum.Enum):
    """The reason in a dead letter. The texts are Kafka's."""

    REJECTED = "Offset rejected by client."
    EXHAUSTED = "Offset delivery count exceeded the threshold."


@frozen
class DeadLetterRun:
    """Consecutive ARCHIVING records whose letters say the same.

    Attributes:
        first: The first offset.
        last: The last offset.
        delivery_count: Their delivery count.
        reason: The reason in their letters.
    """

    first: int
    last: int
    delivery_count: int
    reason: DeadLetterReason


def runs_of_change(
    batches: Iterable[StateBatch], acknowledged: Sequence[AcknowledgementBatch]
) -> tuple[DeadLetterRun, ...]:
    """Return the records that a change has made ARCHIVING. Those that a member has not rejected were at the limit."""
    return tuple(
        DeadLetterRun(
            first, last, batch.delivery_count, DeadLetterReason.REJECTED if is_rejected else DeadLetterReason.EXHAUSTED
        )
        for batch in batches
        if batch.delivery_state == RecordState.ARCHIVING
        for is_rejected, first, last in rejected_ranges(batch, acknowledged)
    )


def runs_left_over(batches: Iterable[StateBatch], limits: DeliveryLimits) -> tuple[DeadLetterRun, ...]:
    """Return the records that a new leader finds ARCHIVING. Their letters may exist already.

    The reason is not stored, so the delivery count decides, as in Kafka (SharePartition.maybeResumeDlqArchiving).
    """
    return tuple(
        DeadLetterRun(
            batch.first_offset,
            batch.last_offset,
            batch.delivery_count,
            DeadLetterReason.EXHAUSTED if limits.is_exhausted(batch.delivery_count) else DeadLetterReason.REJECTED,
        )
        for batch in batches
        if batch.delivery_state == RecordState.ARCHIVING
    )


def rejected_ranges(batch: StateBatch, acknowledged: Sequence[AcknowledgementBatch]) -> Iterator[tuple[bool, int, int]]:
    """Divide a state batch: whether a member has rejected the records, and their first and last offset."""
    first, last = batch.first_offset, batch.last_offset
    # Most acknowledgements have one type for all of their offsets.
    for each in acknowledged:
        if each.first_offset <= first and last <= each.last_offset and len(each.acknowledge_types) == 1:
            yield each.acknowledge_types[0] == AcknowledgeType.REJECT, first, last
            return
    type_of = _types(acknowledged)
    for is_rejected, same in groupby(range(first, last + 1), lambda at: type_of(at) == AcknowledgeType.REJECT):
        run = list(same)
        yield is_rejected, run[0], run[-1]


def _types(batches: Sequence[AcknowledgementBatch]) -> Callable[[int], int | None]:
    def type_of(offset: int) -> int | None:
        for batch in batches:
            if batch.first_offset <= offset <= batch.last_offset:
                types = batch.acknowledge_types
                return types[0] if len(types) == 1 else types[offset - batch.first_offset]
        return None

    return type_of


# --------------------------------------------------------------------------------------------- the letters


@frozen
class LetterSource:
    """The origin of letters: the group that had the records, and their partition by the name of its topic."""

    group_id: str
    topic: str
    partition: int


@frozen
class RecordCopy:
    """The parts of a record that its letter gets, and the record's size in its batch."""

    key: bytes | None
    value: bytes | None
    size_bytes: int


_NO_COPY = RecordCopy(None, None, 0)
_OFFSET = "__dlq.errors.offset"


@frozen
class LetterBatch:
    """Letters that are appended together, the first one about the offset `first`, the last one about `last`."""

    first: int
    last: int
    letters: Sequence[NewRecord]


def first_batch(
    source: LetterSource, run: DeadLetterRun, copies: Mapping[int, RecordCopy], max_bytes: int, wall_ms: int
) -> LetterBatch:
    """Return the next batch of letters: of all records of a run, or of so many of the first as fit.

    Args:
        source: The origin of the records.
        run: The records whose letters are not written yet.
        copies: The records to copy. The letters of others have neither key nor value.
        max_bytes: The largest batch that the queue takes. A letter that alone is larger is a batch of its own.
        wall_ms: The timestamp.
    """
    form = _LetterForm(source, run, wall_ms)
    letters: list[NewRecord] = []
    size_bytes, copied_bytes = BATCH_OVERHEAD_BYTES, 0
    for offset in range(run.first, run.last + 1):
        copy = copies.get(offset, _NO_COPY)
        letter = form.letter(offset, copy)
        size_bytes += form.size_bytes(offset, copy, len(letters))
        copied_bytes += copy.size_bytes
        # Two limits, as in Kafka. The batch of letters must fit into the queue
        # (ShareGroupDLQStateManager.ProduceRequestHandler.topicProduceData), and what is read for it has the same bound
        # (ShareGroupDLQRecordFetcher.collectUncompressed).
        if letters and (size_bytes > max_bytes or copied_bytes > max_bytes):
            break
        letters.append(letter)
    return LetterBatch(run.first, run.first + len(letters) - 1, letters)


class _LetterForm:
    """Makes the letters of a run. Only the offset, the key and the value differ between them."""

    def __init__(self, source: LetterSource, run: DeadLetterRun, wall_ms: int) -> None:
        self._wall_ms = wall_ms
        # KIP-1191, "Dead-letter queue record headers", in the order in which Kafka writes them. The headers of the
        # record itself are never copied.
        self._before: tuple[Header, ...] = (
            ("__dlq.errors.topic", source.topic.encode()),
            ("__dlq.errors.partition", str(source.partition).encode()),
        )
        self._after: tuple[Header, ...] = (
            ("__dlq.errors.group", source.group_id.encode()),
            ("__dlq.errors.delivery.count", str(run.delivery_count).encode()),
            ("__dlq.errors.message", run.reason.value.encode()),
        )
        without_offset = NewRecord(headers=(*self._before, (_OFFSET, b""), *self._after))
        whole_bytes = record_bytes(without_offset, 0)
        self._body_bytes = whole_bytes - varint_bytes(whole_bytes - 1)

    def letter(self, offset: int, copy: RecordCopy) -> NewRecord:
        """Return the letter about an offset."""
        headers = (*self._before, (_OFFSET, b"%d" % offset), *self._after)
        return NewRecord(copy.value, copy.key, self._wall_ms, headers)

    def size_bytes(self, offset: int, copy: RecordCopy, offset_delta: int) -> int:
        """Return the size of the letter about an offset at a place in its batch."""
        body = self._body_bytes + len(str(offset)) + varint_bytes(offset_delta) - 1
        if copy is not _NO_COPY:
            body += sized_bytes(copy.key) + sized_bytes(copy.value) - 2
        return varint_bytes(body) + body
