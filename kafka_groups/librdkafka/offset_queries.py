"""Ask librdkafka about partitions whose leaders may have been away.

A client of librdkafka that first asks about a partition while its leader is away answers `_UNKNOWN_PARTITION` from then
on, although the leader is back: it waits for somebody to fetch the metadata. Each client has metadata of its own.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from kafka_groups.librdkafka.failures import error_in, failure_of
from kafka_groups.types import TopicPartition

__all__ = ["bounds_of"]

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


def _with_fresh_metadata(consumer: Consumer, ask: Callable[[], T], timeout_s: float) -> T:
    """Ask, and once more with fresh metadata if the client may not know the leader."""
    try:
        return ask()
    except KafkaException as error:
        if error_in(error).code() not in _STALE:
            raise
    consumer.list_topics(timeout=timeout_s)
    return ask()
