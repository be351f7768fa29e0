"""The questions of the data plane that are rare: how many partitions topics have, and the deletion of records."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kafka_groups.client.calls.partition_offsets import by_topic
from kafka_groups.client.calls.questions import LEADERS, Answer, Question, told
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.types import TopicPartition

__all__ = ["counting_partitions", "deleting", "describing", "identifying"]

_TIMEOUT_MS = 10_000


def deleting(before: Mapping[TopicPartition, int]) -> Question[TopicPartition, None]:
    """Delete the records before these offsets."""

    def build(keys: Sequence[TopicPartition], _version: int) -> DeleteRecordsRequest:
        topics = tuple(
            DeleteRecordsTopic(
                name=topic,
                partitions=tuple(
                    DeleteRecordsPartition(partition_index=each, offset=before[TopicPartition(topic, each)])
                    for each in numbers
                ),
            )
            for topic, numbers in by_topic(keys).items()
        )
        return DeleteRecordsRequest(topics=topics, timeout_ms=_TIMEOUT_MS)

    return Question("delete records", ApiKey.DELETE_RECORDS, tuple(before), build, _deleted, LEADERS)


def _deleted(_keys: Sequence[TopicPartition], response: DeleteRecordsResponse) -> Mapping[TopicPartition, Answer[None]]:
    return {
        (key := TopicPartition(topic.name, each.partition_index)): told(
            each.error_code, f"{each.error_code.name}: {key}", None
        )
        for topic in response.topics
        for each in topic.partitions
    }


def counting_partitions() -> Question[str, Mapping[str, int]]:
    """Ask any broker for the numbers of partitions of all topics. They are the answer for the key ""."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)

    def read(keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[Mapping[str, int]]]:
        counts = {topic.name or "": len(topic.partitions) for topic in response.topics if topic.partitions}
        return {key: told(response.error_code, None, counts) for key in keys}

    return Question("list the topics", ApiKey.METADATA, ("",), lambda _keys, _version: request, read)


def describing(topic: str) -> Question[str, None]:
    """Ask any broker whether a topic may be described. Lists of all topics leave out those that may not."""
    request = MetadataRequest(topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)

    def read(keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[None]]:
        codes = {each.name: each.error_code for each in response.topics}
        return {key: told(codes.get(key, ErrorCode.NONE), None, None) for key in keys}

    return Question("describe a topic", ApiKey.METADATA, (topic,), lambda _keys, _version: request, read)


def identifying(topics: tuple[str, ...]) -> Question[str, UUID | None]:
    """Ask any broker for the ids of topics. Brokers before Kafka 2.8 have no ids."""

    def build(keys: Sequence[str], _version: int) -> MetadataRequest:
        asked = tuple(MetadataRequestTopic(name=key) for key in keys)
        return MetadataRequest(topics=asked, allow_auto_topic_creation=False)

    def read(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[UUID | None]]:
        return {
            topic.name or "": told(topic.error_code, f"{topic.error_code.name}: {topic.name}", topic.topic_id)
            for topic in response.topics
        }

    return Question("ask for the ids of topics", ApiKey.METADATA, topics, build, read)
