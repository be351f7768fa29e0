"""Ask librdkafka about partitions whose leaders may have been away.

A client of librdkafka that first asks about a partition while its leader is away answers `_UNKNOWN_PARTITION` from then
on, although the leader is back: it waits for somebody to fetch the metadata. Each client has metadata of its own.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from kafka_groups.librdkafka.failures import error_in, failure_of
from kafka_groups.types import TopicPartition

__all__ = ["bounds_of", "offsets_at"]

T = TypeVar("T")

_STALE: Final = frozenset({
    KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError._NOENT,
    KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION,
})  # fmt: skip


def bounds_of(consumer: Consumer, partition: TopicPartition, timeout_s: float) -> tuple[int, int]:
    """Return the offset of a partition's first record, and its end as the consumer's isolation level sees it.

    Raises:
        KafkaGroupsError: The broker did not answer in time, or refused.
    """
    place = Position(partition.topic, partition.partition)

    def ask() -> tuple[int, int]:
        return consumer.get_watermark_offsets(place, timeout_s)

    try:
        return _with_fresh_metadata(consumer, ask, timeout_s)
    except KafkaException as error:
        raise failure_of(error_in(error), f"the offsets of {partition} are not known") from error


def offsets_at(consumer: Consumer, times: Mapping[TopicPartition, int], timeout_s: float) -> dict[TopicPartition, int]:
    """Return the first offset at or after a time (ms since the epoch); partitions without one are left out.

    Raises:
        KafkaGroupsError: A broker did not answer in time, or refused.
    """
    asked = [Position(at.topic, at.partition, time_ms) for at, time_ms in times.items()]
    if not asked:
        return {}

    def ask() -> list[Position]:
        found = consumer.offsets_for_times(asked, timeout_s)
        for each in found:
            if each.error is not None:
                raise KafkaException(each.error)
        return found

    try:
        found = _with_fresh_metadata(consumer, ask, timeout_s)
    except KafkaException as error:
        raise failure_of(error_in(error), "offsets by time are not known") from error
    return {TopicPartition(each.topic, each.partition): each.offset for each in found if each.offset >= 0}


def _with_fresh_metadata(consumer: Consumer, ask: Callable[[], T], timeout_s: float) -> T:
    """Ask, and once more with fresh metadata if the client may not know the leader."""
    try:
        return ask()
    except KafkaException as error:
        if error_in(error).code() not in _STALE:
            raise
    consumer.list_topics(timeout=timeout_s)
    return ask()
