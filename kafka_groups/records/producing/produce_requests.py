"""Produce requests: their batches and partitions, their messages, and the answers about each batch."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from uuid import UUID

from attrs import define, field, frozen

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import (
    ALL_ACKS,
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.producing.partition_batches import PartitionBatches, SentBatch
from kafka_groups.types import TopicIdPartition, TopicPartition

__all__ = [
    "FIRST_WITH_IDS",
    "ProducedPartition",
    "SentProduceRequest",
    "answer_about",
    "answers_in",
    "data_by_topic",
    "produce_message",
]

FIRST_WITH_IDS = 13
_NO_ID = UUID(int=0)
_DataByTopic = Mapping[tuple[str, UUID | None], Sequence[PartitionProduceData]]


@define(eq=False)
class ProducedPartition:
    """A partition that is written to.

    Attributes:
        name: Its name.
        backoff: Delays attempts after failures.
        lookup: Delays questions about the leader.
        batches: Its batches.
        topic_id: The id of the topic that its numbers are for, or None before the first batch.
        missing_since_ms: Since when the topic may be missing, or None.
        has_begun_anew: Whether an answer has told that the topic was made again, before the metadata did.
        waits_since_ms: Since when no batch was confirmed, or since when there are batches.
        trouble: The last error since then, or None.
    """

    name: TopicPartition
    backoff: BackoffTimer
    lookup: BackoffTimer
    batches: PartitionBatches = field(factory=PartitionBatches)
    topic_id: UUID | None = None
    missing_since_ms: int | None = None
    has_begun_anew: bool = False
    waits_since_ms: int = 0
    trouble: KafkaGroupsError | None = None

    def begin(self, now_ms: int) -> None:
        """Note that a first batch waits, or that one was confirmed."""
        self.waits_since_ms, self.missing_since_ms, self.trouble = now_ms, None, None

    def withdraw(self, is_withdrawn: Callable[[object], bool]) -> Sequence[ProducerBatch]:
        """Drop records that were never sent, by their origins. Returns the batches that had some of them."""
        changed: list[ProducerBatch] = []
        for batch in self.batches.waiting:
            indexes = {index for index, origin in batch.origins if is_withdrawn(origin)}
            if indexes:
                batch.drop(indexes)
                changed.append(batch)
        if changed:
            self.batches.waiting = deque(batch for batch in self.batches.waiting if batch.count)
        return changed

    def hold_back(self, now_ms: int) -> None:
        """Delay the next attempt. Several batches that fail together count as one failure."""
        if not self.backoff.remaining_ms(now_ms):
            self.backoff.failed(now_ms)

    @property
    def by_id(self) -> TopicIdPartition:
        """The partition by the topic's id."""
        return TopicIdPartition(self.topic_id or _NO_ID, self.name.partition, self.name.topic)


@frozen(eq=False)
class SentProduceRequest:
    """A request that is under way.

    Attributes:
        node_id: The broker.
        generation: The generation of the manager that has sent it.
        entries: Its batches with their partitions.
        sent_ms: When it was sent.
    """

    node_id: int
    generation: int
    entries: Sequence[tuple[ProducedPartition, SentBatch]]
    sent_ms: int


def data_by_topic(entries: Sequence[tuple[ProducedPartition, SentBatch]]) -> _DataByTopic:
    """Return the bytes of batches by the name and the id of their topics, as they are now."""
    # The request may be built later, when a connection is open. A topic's id may be another one then.
    topics: dict[tuple[str, UUID | None], list[PartitionProduceData]] = {}
    for each, sent in entries:
        data = PartitionProduceData(index=each.name.partition, records=sent.batch.data)
        topics.setdefault((each.name.topic, each.topic_id), []).append(data)
    return topics


def produce_message(
    topics: _DataByTopic, transactional_id: str | None, timeout_ms: int, version: int
) -> ProduceRequest:
    """Return a request that the leaders answer when all replicas in sync have the batches."""
    by_id = version >= FIRST_WITH_IDS
    data = (
        TopicProduceData(topic_id=topic_id, partition_data=tuple(partitions))
        if by_id
        else TopicProduceData(name=name, partition_data=tuple(partitions))
        for (name, topic_id), partitions in topics.items()
    )
    return ProduceRequest(
        transactional_id=transactional_id, acks=ALL_ACKS, timeout_ms=timeout_ms, topic_data=tuple(data)
    )


def answers_in(
    response: ProduceResponse, sent: SentProduceRequest
) -> Iterator[tuple[ProducedPartition, SentBatch, PartitionProduceResponse]]:
    """Return each batch of a request with its answer. One without an answer may have been written."""
    found: dict[tuple[object, int], PartitionProduceResponse] = {
        (topic.topic_id or topic.name, each.index): each
        for topic in response.responses
        for each in topic.partition_responses
    }
    for each, batch in sent.entries:
        partition = each.name.partition
        told = found.get((each.topic_id, partition)) or found.get((each.name.topic, partition))
        yield each, batch, told or _no_answer(partition)


def answer_about(told: PartitionProduceResponse, record: BatchIndexAndErrorMessage) -> PartitionProduceResponse:
    """Return an answer about a batch as one about one of its records, which it names."""
    text = record.batch_index_error_message or told.error_message
    return PartitionProduceResponse(index=told.index, error_code=told.error_code, base_offset=-1, error_message=text)


def _no_answer(partition: int) -> PartitionProduceResponse:
    text = "The response does not mention the partition"
    return PartitionProduceResponse(
        index=partition, error_code=ErrorCode.NETWORK_EXCEPTION, base_offset=-1, error_message=text
    )
