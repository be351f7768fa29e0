"""What `__share_group_state` says at the end of a run, read as its own rule and offset by offset."""

from collections.abc import Iterator
from typing import Any

from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE, ShareSnapshotValue
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.types import TopicIdPartition
from tests.simulation.wire_tap import Place

_ALL_BYTES = 2**31 - 1
_ACCEPTED, _ARCHIVED = 2, 4


class Witness:
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
            key: Any = record.key
            if key.group_id == group_id:
                self._take(TopicIdPartition(key.topic_id, key.partition), record.value)

    def is_settled(self, place: Place) -> bool:
        """Whether the log says that a record is never delivered again."""
        partition, offset = place
        return offset < self._starts.get(partition, 0) or self._state(place) in (_ACCEPTED, _ARCHIVED)

    def contradicts_acceptance(self, place: Place) -> bool:
        """Whether the log says that a record is not accepted. Below the start offset it does not tell."""
        partition, offset = place
        return offset >= self._starts.get(partition, 0) and self._state(place) != _ACCEPTED

    def _state(self, place: Place) -> int:
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


def _records(metadata: ClusterMetadata, logs: LogStore) -> Iterator[CoordinatorRecord]:
    topic = metadata.topic(SHARE_STATE_TOPIC)
    assert topic is not None
    for partition in topic.partitions:
        log = logs.get(topic.topic_id, partition.partition)
        for batch in iter_batches(log.read(log.log_start_offset, _ALL_BYTES).records):
            for record in batch.records(check_crc=True):
                if record.offset >= log.log_start_offset:
                    assert record.key is not None
                    yield SHARE_GROUP_STATE.decode(record.key, record.value)
