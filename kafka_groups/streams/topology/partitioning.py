"""Chooses the partitions of records, by partitioners of users and of windowed keys."""

from collections.abc import Sequence
from typing import Any

from kafka_groups.errors.texts import counted, represented
from kafka_groups.records.partitioning import partition_of
from kafka_groups.serdes import Serde
from kafka_groups.serdes.serde import BoundSerializer
from kafka_groups.serdes.windowed import WindowedSerde
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.topology.nodes import Partitioner

__all__ = [
    "WindowedPartitioner",
    "check_partition",
    "chosen_partitions",
    "default_partitioner",
    "no_such_partition",
]


class WindowedPartitioner:
    """Sends all windows of a key to one partition: that of the key without its window.

    Args:
        serde: The serde of the windowed keys.

    Attributes:
        serde: The same.
    """

    def __init__(self, serde: WindowedSerde[Any]) -> None:
        self.serde = serde
        self._inner = serde.inner
        self._serializers: dict[str, BoundSerializer[Any]] = {}

    def __call__(self, topic: str, key: Any, _value: object, partitions: int) -> int | None:
        """Return the partition of a record, or None if it has no key."""
        if key is None:
            return None
        if partitions == 1:
            return 0
        write = self._serializers.get(topic)
        if write is None:
            write = self._serializers[topic] = self._inner.serializer(topic, is_key=True)
        # WindowedStreamPartitioner.partitions in Kafka.
        return partition_of(write(key.key, []), partitions)


def default_partitioner(key: Serde[Any]) -> Partitioner | None:
    """Return the partitioner of a stream with keys of this serde, or None for that of all clients."""
    return WindowedPartitioner(key) if isinstance(key, WindowedSerde) else None


def chosen_partitions(
    partitioner: Partitioner, topic: str, key: Any, value: Any, partitions: int
) -> Sequence[int | None]:
    """Return the partitions that a partitioner chooses for a record. None stands for the default partitioner's.

    The caller, which writes the record, checks that the topic has them.

    Args:
        partitioner: The partitioner.
        topic: The topic.
        key: The record's key.
        value: The record's value.
        partitions: The topic's number of partitions.

    Raises:
        StreamsError: It returns something other than partitions.
    """
    chosen: Any = partitioner(topic, key, value, partitions)
    if chosen is None:
        return (None,)
    # A record is written once to each partition, also if one is named twice: Java's partitioners return sets
    # (StreamPartitioner.partitions).
    several = (chosen,) if isinstance(chosen, int) else tuple(dict.fromkeys(chosen))
    for partition in several:
        # A bool is an int in Python, and would silently be partition 0 or 1.
        if not isinstance(partition, int) or isinstance(partition, bool) or partition < 0:
            raise StreamsError(
                f"The partitioner returned {represented(chosen)} for topic {topic!r}. Return a number from 0 "
                f"to {partitions - 1}, "
                "several in a list, or None for the default partitioner."
            )
    return several


def check_partition(topic: str, partition: int, partitions: int) -> None:
    """Refuse a partition that a topic does not have.

    Raises:
        StreamsError: The topic has fewer.
    """
    if partition >= partitions:
        raise no_such_partition(topic, partition, partitions)


def no_such_partition(topic: str, partition: int, partitions: int) -> StreamsError:
    """Return the error for a partition that a topic does not have."""
    has = counted(partitions, "partition")
    return StreamsError(
        f"A partitioner chose partition {partition} of topic {topic!r}, which has {has}, numbered from 0. Return one of"
        " them, or None for the default partitioner."
    )
