"""Topics that answer questions at once, in place of brokers."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from attrs import define, field

from kafka_groups.client.calls.questions import Question, Unfinished
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_groups.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kafka_groups.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    NO_OFFSET,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_groups.types import TopicPartition

__all__ = ["AnsweringTopics"]

K = TypeVar("K")
V = TypeVar("V")

_VERSION = 8


@define
class AnsweringTopics:
    """Topics of a cluster. An instance is a function that asks questions.

    Attributes:
        counts: The numbers of partitions of the topics that exist.
        ends: The ends of the partitions of topics.
        committed: The committed offsets of the partitions of topics; None where there is none.
        racks: The racks of the brokers that are running, by node id.
        replicas: The node ids of the brokers that have a partition; 0 alone where nothing is said.
        errors: Errors of topics in place of what is asked for, by API.
        created: The topics that were created.
        asked: The APIs that were used.
    """

    counts: dict[str, int]
    ends: Mapping[str, Sequence[int]] = field(factory=dict)
    committed: Mapping[str, Sequence[int | None]] = field(factory=dict)
    racks: Mapping[int, str | None] = field(factory=lambda: {0: None})
    replicas: Mapping[TopicPartition, tuple[int, ...]] = field(factory=dict)
    errors: Mapping[ApiKey, Mapping[str, ErrorCode]] = field(factory=dict)
    created: list[CreatableTopic] = field(factory=list)
    asked: list[ApiKey] = field(factory=list)

    async def __call__(self, question: Question[K, V]) -> Results[K, V]:
        """Answer a question."""
        self.asked.append(question.api)
        answers = {
            ApiKey.METADATA: self._metadata,
            ApiKey.CREATE_TOPICS: self._create,
            ApiKey.LIST_OFFSETS: self._ends,
            ApiKey.OFFSET_FETCH: self._committed,
        }
        response: Any = answers[question.api](question.build(question.keys, _VERSION))  # type: ignore[operator]
        found = question.read(question.keys, response)
        values = {key: each.value if isinstance(each, Unfinished) else each for key, each in found.items()}
        failed = {key: each for key, each in values.items() if isinstance(each, KafkaGroupsError)}
        return Results({key: each for key, each in values.items() if key not in failed}, failed)  # type: ignore[misc]

    def _error(self, api: ApiKey, topic: str) -> ErrorCode:
        return self.errors.get(api, {}).get(topic, ErrorCode.NONE)

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        return MetadataResponse(
            brokers=tuple(
                MetadataResponseBroker(node_id=id_, host="b", port=9, rack=it) for id_, it in self.racks.items()
            ),
            topics=tuple(self._described(each.name or "") for each in request.topics or ()),
        )

    def _described(self, name: str) -> MetadataResponseTopic:
        error = self._error(ApiKey.METADATA, name)
        if error is ErrorCode.NONE and name not in self.counts:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        numbers = range(self.counts.get(name, 0) if error is ErrorCode.NONE else 0)
        nodes = [(each, self.replicas.get(TopicPartition(name, each), (0,))) for each in numbers]
        partitions = tuple(
            MetadataResponsePartition(partition_index=each, leader_id=its[0], replica_nodes=its) for each, its in nodes
        )
        return MetadataResponseTopic(error_code=error, name=name, partitions=partitions)

    def _create(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        return CreateTopicsResponse(topics=tuple(map(self._created, request.topics)))

    def _created(self, topic: CreatableTopic) -> CreatableTopicResult:
        error = self._error(ApiKey.CREATE_TOPICS, topic.name)
        if error is ErrorCode.NONE:
            self.created.append(topic)
            self.counts[topic.name] = topic.num_partitions
        return CreatableTopicResult(name=topic.name, error_code=error)

    def _ends(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(topics=tuple(map(self._ends_of, request.topics)))

    def _ends_of(self, topic: ListOffsetsTopic) -> ListOffsetsTopicResponse:
        error = self._error(ApiKey.LIST_OFFSETS, topic.name)
        partitions = tuple(
            ListOffsetsPartitionResponse(
                partition_index=each.partition_index,
                error_code=error,
                offset=-1 if error is not ErrorCode.NONE else self.ends[topic.name][each.partition_index],
            )
            for each in topic.partitions
        )
        return ListOffsetsTopicResponse(name=topic.name, partitions=partitions)

    def _committed(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        groups = tuple(
            OffsetFetchResponseGroup(group_id=group.group_id, topics=tuple(map(self._offsets_of, group.topics or ())))
            for group in request.groups
        )
        return OffsetFetchResponse(groups=groups)

    def _offsets_of(self, topic: OffsetFetchRequestTopic) -> OffsetFetchResponseTopic:
        known = self.committed.get(topic.name, ())
        partitions = tuple(
            OffsetFetchResponsePartition(
                partition_index=each,
                committed_offset=NO_OFFSET if (offset := known[each]) is None else offset,
                error_code=self._error(ApiKey.OFFSET_FETCH, topic.name),
            )
            for each in topic.partition_indexes
        )
        return OffsetFetchResponseTopic(name=topic.name, partitions=partitions)
