"""The logs of a cluster, by topic id and partition. All brokers share them, because there are no replicas."""

from collections.abc import Callable, Iterator
from uuid import UUID

from kafka_groups.broker.log.internal_log import InternalLog, R, RecordCodec
from kafka_groups.broker.log.partition_log import PartitionLog

__all__ = ["CoordinatorStorage", "LogFactory", "LogStore"]

_FIRST_PRODUCER_ID = 1000  # Kafka assigns ids in blocks of 1,000. A first id other than 0 reveals mistakes.

LogFactory = Callable[[UUID, int], PartitionLog]
"""Makes the log of a partition, by the topic's id and the partition's number."""


class CoordinatorStorage:
    """In-memory storage of the coordinators' records, without delays. A simulation replaces it."""

    def new_log(self, codec: RecordCodec[R]) -> InternalLog[R]:
        """Return a log for a partition of an internal topic."""
        return InternalLog(codec)

    def next_slice_ms(self) -> int:
        """Return how long it takes to read the next records of a log that a coordinator loads."""
        return 0


class LogStore:
    """Partition logs, created on first use, and the producer ids of the cluster.

    Check in the cluster's metadata first whether a topic or partition exists.

    Args:
        new_log: Makes the logs.

    Attributes:
        storage: Makes the logs of internal topics.
    """

    def __init__(self, new_log: LogFactory = lambda _topic_id, _partition: PartitionLog()) -> None:
        self.storage = CoordinatorStorage()
        self._new_log = new_log
        self._logs: dict[UUID, dict[int, PartitionLog]] = {}
        self._next_producer_id = _FIRST_PRODUCER_ID

    def __repr__(self) -> str:
        return f"<LogStore of {len(self)} partitions>"

    def __len__(self) -> int:
        return sum(len(partitions) for partitions in self._logs.values())

    def __iter__(self) -> Iterator[tuple[UUID, int]]:
        return ((topic_id, partition) for topic_id, logs in self._logs.items() for partition in logs)

    def get(self, topic_id: UUID, partition: int) -> PartitionLog:
        """Return the log of a partition, and create it on first use."""
        logs = self._logs.setdefault(topic_id, {})
        log = logs.get(partition)
        if log is None:
            log = logs[partition] = self._new_log(topic_id, partition)
        return log

    def find(self, topic_id: UUID, partition: int) -> PartitionLog | None:
        """Return the log of a partition, or None if nobody has used it."""
        return self._logs.get(topic_id, {}).get(partition)

    def internal(self, topic_id: UUID, partition: int, codec: RecordCodec[R]) -> InternalLog[R]:
        """Return the log of a partition of an internal topic, which no client can write to. Create it on first use.

        Args:
            topic_id: The topic.
            partition: The partition.
            codec: Encodes and decodes the topic's records.
        """
        log = self.get(topic_id, partition)
        if not isinstance(log, InternalLog):  # a reader was there first, and found nothing
            log = self._logs[topic_id][partition] = self.storage.new_log(codec)
        return log

    def drop_uncommitted(self, topic_id: UUID, partition: int) -> None:
        """Lose the records of a partition that are not committed, because the broker that wrote them died."""
        log = self._logs.get(topic_id, {}).get(partition)
        if isinstance(log, InternalLog):
            log.drop_uncommitted()

    def delete_topic(self, topic_id: UUID) -> None:
        """Drop the logs of a topic, if it has any."""
        self._logs.pop(topic_id, None)

    def new_producer_id(self) -> int:
        """Return a new producer id."""
        producer_id = self._next_producer_id
        self._next_producer_id += 1
        return producer_id
