"""Questions about the offsets of partitions, by time."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from kafka_groups.client.calls.questions import LEADERS, Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.list_offsets import (
    EARLIEST,
    LATEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_groups.types import TopicPartition

__all__ = ["EARLIEST", "LATEST", "by_topic", "by_topic_and_id", "offsets_at", "offsets_at_or_ends"]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the numbers of partitions by topic."""
    grouped: dict[str, list[int]] = {}
    for each in partitions:
        grouped.setdefault(each.topic, []).append(each.partition)
    return grouped


def by_topic_and_id(
    partitions: Iterable[TopicPartition], topic_ids: Mapping[TopicPartition, UUID]
) -> dict[tuple[str, UUID | None], list[int]]:
    """Return the numbers of partitions by topic and its id; None as id: it is not known.

    Partitions of one topic may have different ids, if it was made again while they were read.
    """
    grouped: dict[tuple[str, UUID | None], list[int]] = {}
    for each in partitions:
        grouped.setdefault((each.topic, topic_ids.get(each)), []).append(each.partition)
    return grouped


async def offsets_at(
    ask: Asking, partitions: Iterable[TopicPartition], timestamp: int, *, committed: bool = False
) -> Results[TopicPartition, int]:
    """Return the offset of the first record at or after a time in each partition.

    Args:
        ask: Asks the brokers.
        partitions: The partitions.
        timestamp: Milliseconds since the epoch, or `EARLIEST` or `LATEST`.
        committed: Whether an open transaction ends a partition (`read_committed`).

    Returns:
        The offsets; -1 in a partition that has no such record.
    """

    def build(keys: Sequence[TopicPartition], _version: int) -> ListOffsetsRequest:
        topics = tuple(
            ListOffsetsTopic(
                name=topic,
                partitions=tuple(ListOffsetsPartition(partition_index=each, timestamp=timestamp) for each in numbers),
            )
            for topic, numbers in by_topic(keys).items()
        )
        return ListOffsetsRequest(isolation_level=int(committed), topics=topics)

    keys = tuple(dict.fromkeys(partitions))
    return await ask(Question("find an offset", ApiKey.LIST_OFFSETS, keys, build, _offsets, LEADERS))


def _offsets(_keys: Sequence[TopicPartition], response: ListOffsetsResponse) -> Mapping[TopicPartition, Answer[int]]:
    return {
        (key := TopicPartition(topic.name, each.partition_index)): told(
            each.error_code, f"{each.error_code.name}: {key}", each.offset
        )
        for topic in response.topics
        for each in topic.partitions
    }


async def offsets_at_or_ends(
    ask: Asking, partitions: Iterable[TopicPartition], timestamp: int
) -> Results[TopicPartition, int]:
    """Return the offset of the first record at or after a time in each partition, or the end if there is none."""
    found = await offsets_at(ask, partitions, timestamp)
    # The leader answers -1 if all records are older.
    ends = await offsets_at(ask, [key for key, offset in found.values.items() if offset < 0], LATEST)
    values = {key: ends.values.get(key, offset) for key, offset in found.values.items() if key not in ends.errors}
    return Results(values, {**found.errors, **ends.errors})
