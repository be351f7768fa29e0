"""The logs of a cluster, by topic id and partition; all its brokers share them, as there are no replicas."""

from collections.abc import Iterator
from uuid import UUID

from kafka_groups.broker.log.partition_log import PartitionLog

__all__ = ["LogStore"]

_FIRST_PRODUCER_ID = 1000  # Kafka hands out ids in blocks of a thousand; a number that is not 0 shows mistakes


class LogStore:
    """Partition logs, made when first asked for, and the producer ids of the cluster.

    Whether a topic or partition exists is for the cluster's metadata to say; ask that first.
    """

    def __init__(self) -> None:
        self._logs: dict[UUID, dict[int, PartitionLog]] = {}
        self._next_producer_id = _FIRST_PRODUCER_ID

    def __repr__(self) -> str:
        return f"<LogStore of {len(self)} partitions>"

    def __len__(self) -> int:
        return sum(len(partitions) for partitions in self._logs.values())

    def __iter__(self) -> Iterator[tuple[UUID, int]]:
        return ((topic_id, partition) for topic_id, logs in self._logs.items() for partition in logs)

    def get(self, topic_id: UUID, partition: int) -> PartitionLog:
        """The log of a partition; empty when nothing asked for it before."""
        logs = self._logs.setdefault(topic_id, {})
        log = logs.get(partition)
        if log is None:
            log = logs[partition] = PartitionLog()
        return log

    def delete_topic(self, topic_id: UUID) -> None:
        """Drop the logs of a topic, if there are any."""
        self._logs.pop(topic_id, None)

    def new_producer_id(self) -> int:
        """A producer id that was never handed out before."""
        producer_id = self._next_producer_id
        self._next_producer_id += 1
        return producer_id
