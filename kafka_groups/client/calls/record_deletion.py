"""The question that deletes records from the beginning of partitions (DeleteRecords, KIP-107)."""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_groups.client.calls.partition_offsets import by_topic
from kafka_groups.client.calls.questions import LEADERS, Answer, Question, told
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafka_groups.types import TopicPartition

__all__ = ["HIGH_WATERMARK", "deletion_of_records"]

HIGH_WATERMARK: Final = -1
"""In place of an offset: delete all records that every replica has."""
_TIMEOUT_MS: Final = 10_000
"""The longest time that a leader waits for the replicas."""


def deletion_of_records(before: Mapping[TopicPartition, int]) -> Question[TopicPartition, int]:
    """Return the question that deletes the records before these offsets. Its answers are the first offsets left."""

    def build(keys: Sequence[TopicPartition], _version: int) -> DeleteRecordsRequest:
        topics = tuple(_topic(name, numbers, before) for name, numbers in by_topic(keys).items())
        return DeleteRecordsRequest(topics=topics, timeout_ms=_TIMEOUT_MS)

    return Question("delete records", ApiKey.DELETE_RECORDS, tuple(before), build, _deleted, LEADERS)


def _topic(name: str, numbers: Sequence[int], before: Mapping[TopicPartition, int]) -> DeleteRecordsTopic:
    partitions = (
        DeleteRecordsPartition(partition_index=each, offset=before[TopicPartition(name, each)]) for each in numbers
    )
    return DeleteRecordsTopic(name=name, partitions=tuple(partitions))


def _deleted(_keys: Sequence[TopicPartition], response: DeleteRecordsResponse) -> Mapping[TopicPartition, Answer[int]]:
    return {
        (key := TopicPartition(topic.name, each.partition_index)): told(
            each.error_code, f"{each.error_code.name}: {key}", each.low_watermark
        )
        for topic in response.topics
        for each in topic.partitions
    }
