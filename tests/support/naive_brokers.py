"""Brokers that are as simple as can be: they answer fetches from naive logs, with the errors and hints of Kafka."""

import random
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from attrs import define, field

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Events
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import (
    READ_COMMITTED,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.records.fetching.fetch import FetchManager, FetchOptions
from kafka_groups.records.fetching.reader_sensors import ReaderSensors
from kafka_groups.types import TopicPartition, random_uuid
from tests.support.naive_log import NaiveLog


@define(eq=False)
class NaivePartition:
    """A partition: its log and its leader."""

    leader: int = 1
    log: NaiveLog = field(factory=NaiveLog)
    refusal: ErrorCode | None = None

    def lead(self, node_id: int) -> None:
        """Let another broker lead, in a new epoch."""
        self.leader = node_id
        self.log.leader_epoch += 1

    def diverging(self, asked: FetchPartition) -> EpochEndOffset:
        """Return where the log differs from what somebody read who asks like this; -1 if it does not."""
        if asked.last_fetched_epoch < 0:
            return EpochEndOffset()
        known = [each for each in self.log.batches if each.leader_epoch <= asked.last_fetched_epoch]
        later = [each for each in self.log.batches if each.leader_epoch > asked.last_fetched_epoch]
        epoch = known[-1].leader_epoch if known else asked.last_fetched_epoch
        end_offset = later[0].base_offset if later else self.log.end_offset
        if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
            return EpochEndOffset(epoch=epoch, end_offset=end_offset)
        return EpochEndOffset()


class NaiveBrokers:
    """Topics of a cluster, and a reader of them.

    Args:
        topics: The number of partitions of each topic.
        options: The settings of the reader.

    Attributes:
        reader: The reader.
        refreshes: How often it has asked for metadata.
        sent: Its requests that are not answered yet.
    """

    def __init__(self, topics: Mapping[str, int], options: FetchOptions | None = None) -> None:
        self._rng = random.Random(7)
        self.ids: dict[str, UUID] = {}
        self.partitions: dict[TopicPartition, NaivePartition] = {}
        self.metadata = Metadata()
        self.events = Events()
        self.refreshes = 0
        self.now_ms = 1_000
        self.sent: list[OutgoingRequest] = []
        self.version = 18
        for name, count in topics.items():
            self.create(name, count)
        self.steady_ms = 0
        self.sensors = ReaderSensors(lambda: self.steady_ms)
        self.reader = FetchManager(
            self.metadata,
            self._refresh,
            lambda: BackoffTimer(100, 1_000, self._rng),
            self.events,
            options or FetchOptions(),
            self.sensors,
        )

    def create(self, name: str, partitions: int) -> None:
        """Create a topic, or make it again."""
        self.ids[name] = random_uuid(self._rng)
        for at in range(partitions):
            self.partitions[TopicPartition(name, at)] = NaivePartition(1 + at % 2)

    def log(self, name: str, partition: int = 0) -> NaiveLog:
        """Return the log of a partition."""
        return self.partitions[TopicPartition(name, partition)].log

    def _refresh(self) -> None:
        self.refreshes += 1

    def tell_metadata(self) -> None:
        """Let the reader's client hear of everything."""
        topics = [
            MetadataResponseTopic(
                name=name,
                topic_id=topic_id,
                partitions=tuple(
                    MetadataResponsePartition(
                        partition_index=place.partition, leader_id=each.leader, leader_epoch=each.log.leader_epoch
                    )
                    for place, each in self.partitions.items()
                    if place.topic == name
                ),
            )
            for name, topic_id in self.ids.items()
        ]
        brokers = tuple(MetadataResponseBroker(node_id=at, host=f"b{at}", port=9) for at in (1, 2, 3))
        self.metadata.apply(MetadataResponse(brokers=brokers, topics=tuple(topics)))

    # ------------------------------------------------------------------------------------------- requests

    def poll(self) -> int:
        """Ask the reader what to send. Return when it wants to be asked again, in ms."""
        result = self.reader.poll(self.now_ms)
        self.sent += result.requests
        return result.wait_ms

    def built(self) -> list[FetchRequest]:
        """Return the requests that are under way."""
        return [each.build(self.version) for each in self.sent]  # type: ignore[misc]

    def answer(self, **changes: Any) -> list[FetchResponse]:
        """Answer all requests that are under way."""
        sent, self.sent = self.sent, []
        responses = []
        for each in sent:
            responses.append(self.response_to(each, **changes))
            self.reader.on_response(each, ClientResponse(responses[-1], self.version, 1), self.now_ms)
        return responses

    def fail(self, error: Exception) -> None:
        """Let all requests that are under way fail."""
        sent, self.sent = self.sent, []
        for each in sent:
            self.reader.on_failure(each, error, self.now_ms)

    def turn(self) -> None:
        """Let the reader fetch once."""
        self.poll()
        self.answer()

    def response_to(self, sent: OutgoingRequest, **changes: Any) -> FetchResponse:
        """Return the answer of the broker that a request goes to."""
        request = sent.build(self.version)
        assert isinstance(request, FetchRequest)
        assert sent.node_id is not None
        names = {topic_id: name for name, topic_id in self.ids.items()}
        topics = []
        for topic in request.topics:
            name = topic.topic or names.get(topic.topic_id)  # type: ignore[arg-type]
            data = tuple(self._read(name, each, request, sent.node_id) for each in topic.partitions)
            topics.append(FetchableTopicResponse(topic_id=topic.topic_id, topic=topic.topic, partitions=data))
        endpoints = tuple(NodeEndpoint(node_id=at, host=f"b{at}", port=9) for at in (1, 2, 3))
        return FetchResponse(**{"responses": tuple(topics), "node_endpoints": endpoints, **changes})

    def _read(self, name: str | None, asked: FetchPartition, request: FetchRequest, node_id: int) -> PartitionData:
        found = None if name is None else self.partitions.get(TopicPartition(name, asked.partition))
        if found is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return _refusal(asked, code)
        if found.refusal is not None:
            return _refusal(asked, found.refusal)
        leader = LeaderIdAndEpoch(leader_id=found.leader, leader_epoch=found.log.leader_epoch)
        if node_id != found.leader:
            return _refusal(asked, ErrorCode.NOT_LEADER_OR_FOLLOWER, leader)
        if asked.current_leader_epoch != found.log.leader_epoch:
            is_old = asked.current_leader_epoch < found.log.leader_epoch
            return _refusal(asked, ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH, leader)
        diverging, log = found.diverging(asked), found.log
        if diverging.end_offset < 0 and not log.start_offset <= asked.fetch_offset <= log.end_offset:
            return _refusal(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
        is_committed_only = request.isolation_level == READ_COMMITTED
        end_offset = log.stable_offset if is_committed_only else log.end_offset
        records, aborted = log.fetch(asked.fetch_offset, asked.partition_max_bytes, end_offset)
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=log.end_offset,
            last_stable_offset=log.stable_offset,
            log_start_offset=log.start_offset,
            diverging_epoch=diverging,
            aborted_transactions=aborted if is_committed_only else None,
            records=records if diverging.end_offset < 0 else b"",
        )


def _refusal(asked: FetchPartition, code: ErrorCode, leader: LeaderIdAndEpoch | None = None) -> PartitionData:
    return PartitionData(
        partition_index=asked.partition,
        error_code=code,
        high_watermark=-1,
        current_leader=leader or LeaderIdAndEpoch(),
        aborted_transactions=None,
        records=b"",
    )
