"""The rules of a writer with outcomes, without I/O, against naive brokers of several topics.

A connection is a queue, as in Kafka: a broker takes its next request when it has answered the one before, and it
answers when all replicas have the records.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from attrs import define, field

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, RequestManager
from kafka_groups.errors import DisconnectedError, KafkaGroupsError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.produce import (
    ALL_ACKS,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.records.confirmed.room import WriterRoom
from kafka_groups.records.confirmed.topic_producer import TopicProducerParts
from kafka_groups.records.confirmed.write_manager import WriteManager
from kafka_groups.records.confirmed.writes import WriteOutcome
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.producing.idempotent import IdempotentIdentity
from kafka_groups.records.producing.produce_settings import ProduceSettings
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.types import TopicIdPartition
from tests.support.producing.partition_of_producers import NaivePartition, Taken

__all__ = ["ConfirmedWorld", "NaiveTopic", "Told"]

_VERSION = 13
_AFTER_APPEND = frozenset({
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR,
})  # fmt: skip
"""The faults with which a batch is appended all the same."""
_MOST_ROUNDS = 2_000


@define(eq=False)
class NaiveTopic:
    """A topic as it is.

    Attributes:
        leaders: The leader of each partition.
        topic_id: Its id.
        logs: The logs of its partitions.
        exists: Whether it exists.
        is_slow: Whether its replicas don't get records, so that no request with some is answered.
        is_denied: Whether the writer may not write to it.
        faults: The answers to the next batches.
        replicated: The values that all replicas have.
        gone: The values in logs that were deleted.
    """

    leaders: list[int]
    topic_id: UUID
    logs: list[NaivePartition]
    exists: bool = True
    is_slow: bool = False
    is_denied: bool = False
    faults: deque[ErrorCode] = field(factory=deque)
    replicated: set[bytes] = field(factory=set)
    gone: Counter[bytes] = field(factory=Counter)

    @property
    def is_well(self) -> bool:
        """True if nothing keeps a record from being confirmed."""
        return self.exists and not self.is_slow and not self.is_denied and not self.faults

    def values(self) -> Counter[bytes]:
        """All values that were ever in its logs."""
        return self.gone + Counter(value for log in self.logs for value in log.values)


@define(eq=False)
class _KnownTopics:
    """What the writer knows, as of its last question."""

    true: dict[str, NaiveTopic]
    wanted: set[str] = field(factory=set)
    is_refreshed: bool = False
    _ids: dict[str, UUID] = field(factory=dict)
    _leaders: dict[tuple[str | None, int], int] = field(factory=dict)
    _counts: dict[str, int] = field(factory=dict)
    _missing: set[str] = field(factory=set)

    def refresh(self) -> None:
        self.is_refreshed = True

    def want(self, topics: Iterable[str]) -> None:
        self.wanted = set(topics)
        self.is_refreshed = True

    def learn(self) -> None:
        """Take a response about all wanted topics."""
        self._missing = {name for name in self.wanted if not self.true[name].exists}
        self.is_refreshed = bool(self._missing)  # as the metadata's manager repeats the question
        for name in self.wanted - self._missing:
            topic = self.true[name]
            self._ids[name], self._counts[name] = topic.topic_id, len(topic.logs)
            self._leaders.update({(name, index): leader for index, leader in enumerate(topic.leaders)})

    def id_of(self, name: str) -> UUID | None:
        return self._ids.get(name)

    def leader_of(self, partition: TopicIdPartition) -> int | None:
        return self._leaders.get((partition.topic, partition.partition))

    def partition_count(self, name: str) -> int | None:
        return self._counts.get(name)

    def is_missing(self, name: str) -> bool:
        return name in self._missing

    def error_of(self, name: str) -> ErrorCode:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name in self._missing else ErrorCode.NONE

    def apply_hint(
        self, partition: TopicIdPartition, leader: LeaderIdAndEpoch, endpoints: Iterable[NodeEndpoint]
    ) -> bool:
        assert {each.node_id for each in endpoints} >= {leader.leader_id}
        at = partition.topic, partition.partition
        changes = self._leaders.get(at) != leader.leader_id
        self._leaders[at] = leader.leader_id
        return changes


@define(eq=False)
class _Question:
    """A request on the way to a broker, or its answer on the way back."""

    manager: RequestManager
    request: OutgoingRequest
    message: Any
    answer: Any = None


@define(eq=False)
class Told:
    """What the owner of a room was told.

    Attributes:
        outcomes: The outcomes by token.
        holds: The errors of each topic, None when it was over.
    """

    outcomes: dict[object, list[WriteOutcome]] = field(factory=dict)
    holds: dict[str, list[KafkaGroupsError | None]] = field(factory=dict)

    def took(self, outcomes: Sequence[WriteOutcome]) -> None:
        for outcome in outcomes:
            for token in outcome.tokens:
                self.outcomes.setdefault(token, []).append(outcome)

    def held(self, topic: str, error: KafkaGroupsError | None) -> None:
        self.holds.setdefault(topic, []).append(error)


class ConfirmedWorld:
    """A writer, its brokers and their topics.

    Args:
        topics: The number of partitions of each topic.
        nodes: The number of brokers.
        rng: The source of jitter, and of partitions.
        batch_bytes: The size of batches.

    Attributes:
        now_ms: The time.
        topics: The topics by name.
        denies_ids: Whether brokers give no producer id.
    """

    def __init__(self, topics: dict[str, int], nodes: int, rng: random.Random, batch_bytes: int = 10_000) -> None:
        self.now_ms = 1_000
        self.nodes = range(nodes)
        self.rng = rng
        self._ids = iter(range(1, 10**6))
        self.topics = {
            name: NaiveTopic(
                [index % nodes for index in range(count)],
                UUID(int=next(self._ids)),
                [NaivePartition() for _ in range(count)],
            )
            for name, count in topics.items()
        }
        self.known = _KnownTopics(self.topics)
        self.errors = BackgroundErrors()
        self.denies_ids = False
        self._news = 0
        self._in_turn = False
        self._has_outcomes = False
        self._warnings: list[str] = []
        self._connections: dict[tuple[int, int], deque[_Question]] = {}
        self._answers: dict[tuple[int, int], deque[_Question]] = {}
        self.identity = IdempotentIdentity(self.errors, self._backoff(), 30_000, holds_denied=True)
        self.manager = WriteManager(self._parts(batch_bytes), self.known.want, self._note_outcomes)

    def _parts(self, batch_bytes: int) -> TopicProducerParts:
        return TopicProducerParts(
            batches=AccumulatorSettings(batch_bytes=batch_bytes, linger_ms=0, limits_records=False),
            requests=ProduceSettings(missing_topic_ms=None, holds_denied=True, limits_records=False),
            topics=self.known,
            refresh=self.known.refresh,
            identity=self.identity,
            rng=self.rng,
            errors=self.errors,
            new_backoff=self._backoff,
            sensors=ProducerSensors(lambda: 0),
            on_news=self.turn,
            wall_ms=lambda: self.now_ms,
        )

    def _backoff(self) -> BackoffTimer:
        return BackoffTimer(100, 1_000, self.rng)

    def _note_outcomes(self) -> None:
        self._has_outcomes = True

    # ------------------------------------------------------------------------------------------ the owner

    def room(self, told: Told) -> WriterRoom:
        return WriterRoom("owner", told.took, told.held, self.manager)

    def turn(self) -> None:
        """Let the writer send what it has to send."""
        if self._in_turn:
            return
        self._in_turn = True
        for manager in (self.manager, self.identity):
            for request in manager.poll(self.now_ms).requests:
                self._post(manager, request)
        self._in_turn = False

    def tell(self) -> None:
        """Have the owners hear of outcomes, as the event loop does."""
        if self._has_outcomes:
            self._has_outcomes = False
            self.manager.deliver()

    def _post(self, manager: RequestManager, request: OutgoingRequest) -> None:
        # Questions about ids go over a connection of their own.
        at = (self.nodes[0], -1) if request.node_id is None else (request.node_id, request.channel)
        self._connections.setdefault(at, deque()).append(_Question(manager, request, request.build(_VERSION)))

    # ---------------------------------------------------------------------------------------- the brokers

    def handle_all(self) -> bool:
        """Let each broker take the next request of each connection. Returns whether something was answered."""
        return sum(self.handle(at) for at in tuple(self._connections)) > 0

    def handle(self, at: tuple[int, int]) -> bool:
        """Let a broker take the next request of a connection, unless it waits for the replicas of the one before."""
        requests = self._connections.get(at)
        if not requests:
            return False
        question = requests[0]
        if question.answer is None:
            question.answer = self._answer(at[0], question.message)
        if not self._replicate(question.message):
            return False
        requests.popleft()
        self._answers.setdefault(at, deque()).append(question)
        return True

    def _replicate(self, message: Any) -> bool:
        """Return whether the answer can be sent, and note what all replicas have then."""
        if not isinstance(message, ProduceRequest) or message.acks != ALL_ACKS:
            return True
        found = [(self._by_id(each.topic_id), each) for each in message.topic_data]
        if any(topic is not None and topic.is_slow for topic, _ in found):
            return False
        for topic, each in found:
            if topic is not None:
                topic.replicated.update(value for data in each.partition_data for value in _values_in(data))
        return True

    def _by_id(self, topic_id: UUID | None) -> NaiveTopic | None:
        return next((each for each in self.topics.values() if each.topic_id == topic_id), None)

    def deliver_all(self) -> bool:
        """Let the writer get all answers that are there. Returns whether there were some."""
        return sum(self.deliver(at) for at in tuple(self._answers)) > 0

    def deliver(self, at: tuple[int, int]) -> bool:
        """Let the writer get the next answer of a connection."""
        answers = self._answers.get(at)
        if not answers:
            return False
        question = answers.popleft()
        question.manager.on_response(question.request, ClientResponse(question.answer, _VERSION, 1), self.now_ms)
        self.turn()
        return True

    def connections(self) -> Sequence[tuple[int, int]]:
        """All connections that there have been."""
        return tuple(self._connections)

    def disconnect(self, at: tuple[int, int]) -> None:
        """End a connection: the broker may have handled its first request."""
        lost = [*self._answers.get(at, ()), *self._connections.get(at, ())]
        self._answers.pop(at, None)
        self._connections.pop(at, None)
        for question in lost:
            question.manager.on_failure(question.request, DisconnectedError("gone"), self.now_ms)
            self.turn()

    def _answer(self, node: int, message: Any) -> Any:
        if not isinstance(message, ProduceRequest):
            if self.denies_ids:
                return InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, producer_epoch=-1)
            return InitProducerIdResponse(producer_id=next(self._ids), producer_epoch=0)
        return ProduceResponse(
            responses=tuple(
                TopicProduceResponse(
                    topic_id=topic.topic_id,
                    partition_responses=tuple(self._about(node, topic.topic_id, data) for data in topic.partition_data),
                )
                for topic in message.topic_data
            ),
            node_endpoints=tuple(NodeEndpoint(node_id=each, host="h", port=1) for each in self.nodes),
        )

    def _about(self, node: int, topic_id: UUID | None, data: PartitionProduceData) -> PartitionProduceResponse:
        topic = self._by_id(topic_id)
        taken = Taken(ErrorCode.UNKNOWN_TOPIC_ID) if topic is None else _taken(topic, node, data)
        leader = LeaderIdAndEpoch()
        if topic is not None and taken.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and self.rng.random() < 0.5:
            leader = LeaderIdAndEpoch(leader_id=topic.leaders[data.index], leader_epoch=self.now_ms)
        return PartitionProduceResponse(
            index=data.index,
            error_code=taken.error,
            base_offset=taken.base_offset,
            record_errors=taken.record_errors,
            current_leader=leader,
        )

    # -------------------------------------------------------------------------------------------- changes

    def pass_time(self, ms: int) -> None:
        """Let time pass, in which the writer learns what it wants to know."""
        self.now_ms += ms
        if self.known.is_refreshed:
            self.known.learn()
        self.turn()
        self.tell()

    def delete(self, name: str) -> None:
        """Delete a topic."""
        topic = self.topics[name]
        for questions in self._connections.values():
            for each in questions:  # one that waits for replicas is judged again
                if isinstance(each.message, ProduceRequest) and each.message.topic_data[0].topic_id == topic.topic_id:
                    each.answer = None
        topic.exists = False
        topic.topic_id = UUID(int=next(self._ids))
        topic.gone = topic.values()
        topic.logs = [NaivePartition(has_forgotten=True, max_bytes=log.max_bytes) for log in topic.logs]

    def heal(self) -> None:
        """Let everything be well."""
        self.denies_ids = False
        for topic in self.topics.values():
            topic.exists, topic.is_slow, topic.is_denied = True, False, False
            topic.faults.clear()

    def rounds(self, count: int, ms: int = 50) -> Iterator[None]:
        """Let requests and answers go back and forth."""
        for _ in range(count):
            for _ in range(_MOST_ROUNDS):
                if not (self.handle_all() | self.deliver_all()):
                    break
            else:
                raise AssertionError("the writer sends again and again without a wait")
            self.pass_time(ms)
            yield

    @property
    def warnings(self) -> list[str]:
        """All warnings so far."""
        self._warnings += [event.text for event in self.errors.events.take() if event.subject is not None]
        return self._warnings


def _taken(topic: NaiveTopic, node: int, data: PartitionProduceData) -> Taken:
    if not topic.exists:
        return Taken(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.is_denied:
        return Taken(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if topic.leaders[data.index] != node:
        return Taken(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    fault = topic.faults.popleft() if topic.faults else ErrorCode.NONE
    if fault and fault not in _AFTER_APPEND:
        return Taken(fault)
    taken = topic.logs[data.index].append(data.records or b"")
    return Taken(fault) if fault and not taken.error else taken


def _values_in(data: PartitionProduceData) -> list[bytes]:
    return [record.value or b"" for batch in iter_batches(data.records or b"") for record in batch.records()]
