"""A group's state read from the coordinators' logs alone: at the end of a run, and when states begin."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from kafka_groups.broker.coordinators.groups.share.records import StatePartitions
from kafka_groups.broker.coordinators.groups.share.state_partitions import share_partitions
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, SHARE_STATE_TOPIC, partition_of_key
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupStatePartitionMetadata
from kafka_groups.protocol.coordinator_records.share_group_state import (
    SHARE_GROUP_STATE,
    ShareSnapshot,
    ShareSnapshotValue,
    ShareStateRecord,
)
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.types import RecordId, TopicIdPartition

__all__ = ["Beginnings", "LogOracle"]

_ACCEPTED, _ARCHIVED = 2, 4


class LogOracle:
    """The states of one group's share-partitions, from the bytes of the log alone.

    Args:
        metadata: Tells where the topic is.
        logs: The logs of the cluster.
        group_id: The group.
    """

    def __init__(self, metadata: ClusterMetadata, logs: LogStore, group_id: str) -> None:
        self._starts: dict[TopicIdPartition, int] = {}
        self._states: dict[TopicIdPartition, dict[int, tuple[int, int]]] = {}
        for record in _records(metadata, logs):
            if record.group_id == group_id:
                self._take(TopicIdPartition(record.topic_id, record.partition), record.value)

    def is_settled(self, place: RecordId) -> bool:
        """Return whether the log says that a record is never delivered again."""
        partition, offset = place
        return offset < self._starts.get(partition, 0) or self._state(place) in (_ACCEPTED, _ARCHIVED)

    def contradicts_acceptance(self, place: RecordId) -> bool:
        """Return whether the log says that a record is not accepted. Below the start offset it does not tell."""
        partition, offset = place
        return offset >= self._starts.get(partition, 0) and self._state(place) != _ACCEPTED

    def _state(self, place: RecordId) -> int:
        return self._states.get(place[0], {}).get(place[1], (0, 0))[1]

    def _take(self, partition: TopicIdPartition, value: Any) -> None:
        if value is None or isinstance(value, ShareSnapshotValue):
            self._starts[partition], self._states[partition] = -1, {}
        if value is None:
            return
        self._starts[partition] = max(self._starts.get(partition, -1), value.start_offset)
        states = self._states.setdefault(partition, {})
        for batch in value.state_batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                new = (batch.delivery_count, batch.delivery_state)
                states[offset] = max(states.get(offset, new), new)


class Beginnings:
    """Checks that states are created for share-partitions that the group's committed records name, and no others.

    Args:
        metadata: Tells where the topics are.
        logs: The logs of the cluster.
        violations: The list that receives violations.
    """

    def __init__(self, metadata: ClusterMetadata, logs: LogStore, violations: list[str]) -> None:
        self._metadata = metadata
        self._logs = logs
        self._violations = violations
        self._begun: set[tuple[str, UUID, int]] = set()

    def appended(self, records: Sequence[Any]) -> None:
        """Look at records that a coordinator appends."""
        for record in records:
            if isinstance(record, ShareSnapshot) and record.value is not None:
                self._begin(record.group_id, record.topic_id, record.partition)

    def _begin(self, group_id: str, topic_id: UUID, partition: int) -> None:
        is_known = (group_id, topic_id, partition) in self._begun or (topic_id, partition) in self._named(group_id)
        if not is_known:
            self._violations.append(f"{topic_id}-{partition}: has a state which the group's records do not ask for")
        self._begun.add((group_id, topic_id, partition))

    def _named(self, group_id: str) -> Iterator[tuple[UUID, int]]:
        for value in self._committed(group_id):
            if isinstance(value, StatePartitions):
                yield from share_partitions(value.initializing)
                yield from share_partitions(value.initialized)

    def _committed(self, group_id: str) -> Iterator[object]:
        topic = self._metadata.topic(GROUP_TOPIC)
        if topic is None:
            return
        log = self._logs.get(topic.topic_id, partition_of_key(group_id, topic.num_partitions))
        if isinstance(log, InternalLog):
            records = (record for offset, record in log.records() if offset < log.committed_offset)
            states = (record for record in records if isinstance(record, ShareGroupStatePartitionMetadata))
            yield from (record.value for record in states if record.group_id == group_id)


def _records(metadata: ClusterMetadata, logs: LogStore) -> Iterator[ShareStateRecord]:
    topic = metadata.topic(SHARE_STATE_TOPIC)
    if topic is None:
        return
    for partition in topic.partitions:
        log = logs.get(topic.topic_id, partition.partition)
        for stored in log.batches(log.log_start_offset, log.high_watermark):
            for record in next(iter_batches(stored.data)).records(check_crc=True):
                if record.offset >= log.log_start_offset and record.key is not None:
                    yield SHARE_GROUP_STATE.decode(record.key, record.value)
