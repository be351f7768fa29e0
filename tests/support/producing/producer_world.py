"""A producer's rules without I/O, against naive brokers, with faults that a test chooses."""

import random
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from attrs import define, field

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, RequestManager
from kafka_groups.errors import DisconnectedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafka_groups.records.producing.accumulator import AccumulatorSettings, RecordAccumulator
from kafka_groups.records.producing.cluster_topics import ProducerCluster
from kafka_groups.records.producing.idempotent import IdempotentIdentity
from kafka_groups.records.producing.produce import ProduceManager
from kafka_groups.records.producing.produce_settings import ProduceSettings
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.types import TopicIdPartition
from tests.support.producing.partition_of_producers import NaivePartition, Taken

__all__ = ["TOPIC", "NaiveTopics", "ProducerWorld"]

TOPIC = "t"
_VERSION = 13
_AFTER_APPEND = frozenset({
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_SERVER_ERROR,
})  # fmt: skip
"""The faults with which a batch is appended all the same."""
PATIENCE = 2_000
"""The most rounds until everything has an answer, once all is well."""


@define
class NaiveTopics:
    """What the producer knows about the topic, and what is true.

    Attributes:
        topic_id: The true id of the topic.
        leaders: The true leaders.
        exists: Whether the topic exists.
    """

    leaders: list[int]
    topic_id: UUID = field(factory=lambda: UUID(int=1))
    exists: bool = True
    known_id: UUID | None = None
    known_leaders: list[int] = field(factory=list)
    known_missing: bool = False
    is_refreshed: bool = False
    error: ErrorCode = ErrorCode.NONE
    wanted: set[str] = field(factory=set)

    def refresh(self) -> None:
        self.is_refreshed = True

    def learn(self) -> None:
        """Take a Metadata response."""
        self.is_refreshed = False
        self.known_missing = not self.exists
        if self.exists:
            self.known_id, self.known_leaders = self.topic_id, [*self.leaders]

    def make_again(self) -> None:
        self.topic_id = UUID(int=self.topic_id.int + 1)

    def id_of(self, name: str) -> UUID | None:
        assert name == TOPIC
        return self.known_id

    def leader_of(self, partition: TopicIdPartition) -> int | None:
        known = partition.topic_id == self.known_id and self.known_leaders[partition.partition] >= 0
        return self.known_leaders[partition.partition] if known else None

    def partition_count(self, name: str) -> int | None:
        assert name == TOPIC
        return len(self.known_leaders) or None

    def is_missing(self, name: str) -> bool:
        assert name == TOPIC
        return self.known_missing

    def error_of(self, name: str) -> ErrorCode:
        assert name == TOPIC
        return self.error

    def apply_hint(
        self, partition: TopicIdPartition, leader: LeaderIdAndEpoch, endpoints: Iterable[NodeEndpoint]
    ) -> bool:
        assert {each.node_id for each in endpoints} >= {leader.leader_id}
        if self.known_leaders[partition.partition] == leader.leader_id:
            return False
        self.known_leaders[partition.partition] = leader.leader_id
        return True


@define(eq=False)
class _Question:
    """A request on the way to a broker, or its answer on the way back."""

    manager: RequestManager
    request: OutgoingRequest
    message: Any
    answer: Any = None


class ProducerWorld:
    """One producer, its brokers and their partitions.

    Args:
        partitions: The number of partitions of the topic.
        nodes: The number of brokers.
        settings: The settings of the accumulator.
        rng: The source of jitter.

    Attributes:
        now_ms: The time.
        logs: The logs of the partitions.
        topics: The topic.
        accepted: The values that were written by the program, by partition, in order.
    """

    def __init__(
        self,
        partitions: int = 2,
        nodes: int = 2,
        settings: AccumulatorSettings | None = None,
        rng: random.Random | None = None,
        produce: ProduceSettings | None = None,
        identity: Any = None,
    ) -> None:
        self.now_ms = 1_000
        self.rng = rng or random.Random(1)
        self.logs = [NaivePartition() for _ in range(partitions)]
        self.gone: list[Counter[bytes]] = [Counter() for _ in range(partitions)]
        self.topics = NaiveTopics([partition % nodes for partition in range(partitions)])
        self.topics.learn()
        self.nodes = range(nodes)
        self.errors = BackgroundErrors()
        self.news = 0
        self.steady_ms = 0
        self.sensors = ProducerSensors(lambda: self.steady_ms)
        self.accumulator = RecordAccumulator(
            settings or AccumulatorSettings(), self.topics.partition_count, self.rng, self._has_news, self.sensors
        )
        self.identity: Any = identity or IdempotentIdentity(self.errors, self.backoff(), 30_000)
        self.told_counts: dict[str, int] = {}
        cluster = ProducerCluster(self.topics, self.topics.refresh, self.topics.wanted.update, self.told_counts.update)
        self.produce = ProduceManager(
            self.accumulator,
            self.identity,
            cluster,
            produce or ProduceSettings(),
            self.errors,
            self.backoff,
            self.sensors,
        )
        self.accepted: list[list[bytes]] = [[] for _ in range(partitions)]
        self.refused: list[Counter[bytes]] = [Counter() for _ in range(partitions)]
        self.requests: dict[int, deque[_Question]] = {node: deque() for node in self.nodes}
        self.answers: dict[int, deque[_Question]] = {node: deque() for node in self.nodes}
        self.faults: list[deque[ErrorCode]] = [deque() for _ in range(partitions)]
        self.next_producer_id = 1
        self._warnings: list[str] = []
        self.may_be_twice: Counter[int] = Counter()
        self.first_epoch = 0
        self.throttle_ms = 0
        self.version = _VERSION
        self.gives_hints = True
        self.messages: list[ProduceRequest] = []

    def _has_news(self) -> None:
        self.news += 1

    def backoff(self) -> BackoffTimer:
        return BackoffTimer(100, 1_000, self.rng)

    # ---------------------------------------------------------------------------------------- the program

    def write(self, partition: int, values: Sequence[bytes], origin: Callable[[bytes], object] = lambda it: it) -> None:
        for value in values:
            self.accumulator.write(TOPIC, b"k", value, self.now_ms, (), partition, origin(value))
            self.accepted[partition].append(value)

    def turn(self) -> int:
        """Let the producer send; returns how long it wants to wait."""
        waits = []
        for manager in (self.produce, self.identity):
            result = manager.poll(self.now_ms)
            waits.append(result.wait_ms)
            for request in result.requests:
                self._post(manager, request)
        return min(waits)

    def _post(self, manager: RequestManager, request: OutgoingRequest) -> None:
        node = 0 if request.node_id is None else request.node_id
        version = self.version if request.newest_version is None else min(self.version, request.newest_version)
        message = request.build(version)
        if isinstance(message, ProduceRequest):
            self.messages.append(message)
        self.requests[node].append(_Question(manager, request, message))

    def answer_all(self) -> None:
        """Let the brokers handle all requests, and the producer get all answers."""
        for _ in range(PATIENCE):
            if not any(self.handle(node) or self.deliver(node) for node in self.nodes):
                return
        raise AssertionError("the producer sends again and again without a wait")

    @property
    def warnings(self) -> list[str]:
        """All warnings so far."""
        self._warnings += [event.text for event in self.errors.events.take() if event.subject is not None]
        return self._warnings

    def refusals(self) -> None:
        """Take what was refused."""
        for record in self.produce.refusals.take_records():
            assert record.topic == TOPIC
            assert record.partition is not None
            assert record.origin == record.value
            self.refused[record.partition][record.value or b""] += 1

    # ---------------------------------------------------------------------------------------- the brokers

    def handle(self, node: int) -> bool:
        """Let a broker handle its next request."""
        if not self.requests[node]:
            return False
        question = self.requests[node].popleft()
        question.answer = self._answer(node, question.message)
        self.answers[node].append(question)
        return True

    def deliver(self, node: int) -> bool:
        """Let the producer get the next answer of a broker."""
        if not self.answers[node]:
            return False
        question = self.answers[node].popleft()
        question.manager.on_response(question.request, ClientResponse(question.answer, self.version, 1), self.now_ms)
        self.turn()
        return True

    def disconnect(self, node: int, handled: int) -> None:
        """End the connections to a broker, which handles some of the requests that it has got all the same."""
        lost = [*self.answers[node], *self.requests[node]]
        for _ in range(handled):
            self.handle(node)
        self.answers[node].clear()
        self.requests[node].clear()
        for question in lost:
            question.manager.on_failure(question.request, DisconnectedError("gone"), self.now_ms)
            self.turn()

    def _answer(self, node: int, message: Any) -> Any:
        if not isinstance(message, ProduceRequest):
            self.next_producer_id += 1
            return InitProducerIdResponse(producer_id=self.next_producer_id, producer_epoch=self.first_epoch)
        return ProduceResponse(
            responses=tuple(self._topic_answer(node, topic) for topic in message.topic_data),
            node_endpoints=tuple(NodeEndpoint(node_id=each, host="h", port=1) for each in self.nodes),
            throttle_time_ms=self.throttle_ms,
        )

    def _topic_answer(self, node: int, topic: TopicProduceData) -> TopicProduceResponse:
        answers = tuple(self._partition_answer(node, topic.topic_id, data) for data in topic.partition_data)
        return TopicProduceResponse(topic_id=topic.topic_id, name=topic.name, partition_responses=answers)

    def _partition_answer(
        self, node: int, topic_id: UUID | None, data: PartitionProduceData
    ) -> PartitionProduceResponse:
        index, leader = data.index, LeaderIdAndEpoch()
        taken = self._taken(node, topic_id, data)
        if taken.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and self.gives_hints:
            leader = LeaderIdAndEpoch(leader_id=self.topics.leaders[index], leader_epoch=self.now_ms)
        return PartitionProduceResponse(
            index=index,
            error_code=taken.error,
            base_offset=taken.base_offset,
            record_errors=taken.record_errors,
            current_leader=leader,
        )

    def _taken(self, node: int, topic_id: UUID | None, data: PartitionProduceData) -> Taken:
        if not self.topics.exists:
            return Taken(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if topic_id not in (self.topics.topic_id, None):
            return Taken(ErrorCode.UNKNOWN_TOPIC_ID)
        if self.topics.leaders[data.index] != node:
            return Taken(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        fault = self.faults[data.index].popleft() if self.faults[data.index] else ErrorCode.NONE
        if fault and fault not in _AFTER_APPEND:
            return Taken(fault)
        taken = self.logs[data.index].append(data.records or b"")
        return Taken(fault) if fault and not taken.error else taken

    # ---------------------------------------------------------------------------------------- the faults

    def move(self, partition: int, node: int) -> None:
        self.topics.leaders[partition] = node

    def make_again(self) -> None:
        """Delete the topic and create it again."""
        self.topics.make_again()
        for partition, log in enumerate(self.logs):
            self.gone[partition] += Counter(log.values)
            self.logs[partition] = NaivePartition(has_forgotten=True, max_bytes=log.max_bytes)

    def pass_time(self, ms: int) -> None:
        self.now_ms += ms
        if self.topics.is_refreshed:
            self.topics.learn()
        self.turn()

    # ------------------------------------------------------------------------------------------- the end

    def settle(self) -> None:
        """Let everything end well: no more faults, until all records have an answer."""
        for faults in self.faults:
            faults.clear()
        self.settle_once()
        self.refusals()

    def settle_once(self) -> None:
        """Flush, with the faults that are left."""
        self.produce.flush_requested = True
        for _ in range(PATIENCE):
            if self.produce.is_flushed:
                break
            self.answer_all()
            self.pass_time(50)
        assert self.produce.is_flushed, f"stuck: {self.produce!r}"
        assert self.produce.pending == 0
        assert self.accumulator.held_bytes == 0
        self.produce.flush_requested = False

    def _note_doubts(self) -> None:
        """Count the records of which the producer says that they may be written twice."""
        self.may_be_twice.clear()
        for text in self.warnings:
            told = re.search(r"of t-(\d+) begin anew.* (\d+) records? may be written twice", text)
            if told:
                self.may_be_twice[int(told[1])] += int(told[2])

    def check(self) -> None:
        """Each record is in the log once and in order, or was refused."""
        self._note_doubts()
        for partition, log in enumerate(self.logs):
            accepted, written = self.accepted[partition], Counter(log.values) + self.gone[partition]
            refused = self.refused[partition]
            missing = Counter(accepted) - written - refused
            assert not missing, f"lost in {partition}: {missing}"
            assert not written - Counter(dict.fromkeys(accepted, 10**6)), "something that nobody wrote"
            assert all(count == 1 for count in refused.values()), f"refused twice: {refused}"
            if not log.has_forgotten:  # a batch that was refused in the end may have been written before
                kept = [[value for value in given if value not in refused] for given in (log.values, accepted)]
                assert [*dict.fromkeys(kept[0])] == kept[1], f"the order in partition {partition}"
                twice = len(kept[0]) - len(kept[1])
                assert twice <= self.may_be_twice[partition], f"{twice} records twice in partition {partition}"
        assert self.errors.fatal is None
