"""The share coordinator: shards over the partitions of `__share_group_state`.

Every operation has the same steps: the shard returns a response and records, the log of the shard's partition takes the
records, the shard replays them, and then the coordinator returns the response. Records that no state needs any more are
deleted from the log.
"""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from kafka_groups.broker.coordinators.internal_topic import InternalTopic, leader_epoch_of
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.coordinators.share_state.shard import ShareStateShard, StateWrite
from kafka_groups.broker.coordinators.share_state.state import SharePartitionState, StateKey
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.placement import partition_of_key, share_state_key
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE

__all__ = ["ShareCoordinator"]

R = TypeVar("R")

_PRUNED_AT_ONCE = 2_000
"""Records that are not needed any more are deleted when there are so many of them."""


class _Loaded:
    """A shard with the log of its partition."""

    def __init__(self, shard: ShareStateShard, log: InternalLog[CoordinatorRecord]) -> None:
        self.shard = shard
        self.log = log

    def load(self) -> None:
        for offset, record in self.log.records():
            self.shard.replay(record, offset)

    def commit(self, result: Result[R, CoordinatorRecord], leader_epoch: int, wall_ms: int) -> R:
        if result.records:
            offset = self.log.append_records(result.records, leader_epoch, wall_ms)
            for record in result.records:
                self.shard.replay(record, offset)
                offset += 1
        return result.response

    def prune(self) -> None:
        needed = self.shard.first_needed_offset(self.log.end_offset)
        if needed >= self.log.log_start_offset + _PRUNED_AT_ONCE:
            self.log.delete_records(needed)


class ShareCoordinator:
    """The state of all share-partitions of a cluster, whose brokers share it.

    Args:
        topic: Has the records.
        logs: The logs of the cluster.
        updates_per_snapshot: How many updates of a state follow a snapshot.
        wall_ms: Returns the time since the epoch.
    """

    def __init__(
        self, topic: InternalTopic, logs: LogStore, updates_per_snapshot: int, wall_ms: Callable[[], int]
    ) -> None:
        self._topic = topic
        self._logs = logs
        self._updates_per_snapshot = updates_per_snapshot
        self._wall_ms = wall_ms
        self._loaded: dict[int, _Loaded] = {}
        self._topic_id: UUID | None = None
        self._indexes: dict[StateKey, int] = {}

    def __repr__(self) -> str:
        return f"<ShareCoordinator of {sum(len(each.shard) for each in self._loaded.values())} share-partitions>"

    # ------------------------------------------------------------------------------------------ operations

    def initialize(self, key: StateKey, state_epoch: int, start_offset: int) -> None:
        """Create the state of a share-partition, or begin it afresh.

        Raises:
            BrokerError: As for `ShareStateShard.initialize`, and `InternalTopic.ensured`.
        """
        self._run(key, lambda shard, wall_ms: shard.initialize(key, state_epoch, start_offset, wall_ms))

    def read(self, key: StateKey, leader_epoch: int) -> SharePartitionState:
        """Return the state of a share-partition for a leader with the given epoch. Do not modify it.

        Raises:
            BrokerError: As for `ShareStateShard.read`, and `InternalTopic.ensured`.
        """
        return self._run(key, lambda shard, wall_ms: shard.read(key, leader_epoch, wall_ms))

    def write(self, key: StateKey, change: StateWrite) -> None:
        """Change the state of a share-partition.

        Raises:
            BrokerError: As for `ShareStateShard.write`, and `InternalTopic.ensured`.
        """
        self._run(key, lambda shard, wall_ms: shard.write(key, change, wall_ms))

    def delete(self, key: StateKey) -> None:
        """Delete the state of a share-partition, if it has one.

        Raises:
            BrokerError: As for `InternalTopic.ensured`.
        """
        if self.state(key) is not None:
            self._run(key, lambda shard, _wall_ms: shard.delete(key))
            self._indexes.pop(key, None)

    def state(self, key: StateKey) -> SharePartitionState | None:
        """Return the state of a share-partition, or None without one. Do not modify it."""
        topic = self._topic.known()
        return None if topic is None else self._at(topic, self._index_of(key, topic)).shard.state(key)

    # -------------------------------------------------------------------------------------------- insides

    def _run(self, key: StateKey, operation: Callable[[ShareStateShard, int], Result[R, CoordinatorRecord]]) -> R:
        topic, wall_ms = self._topic.ensured(), self._wall_ms()
        index = self._index_of(key, topic)
        loaded = self._at(topic, index)
        leader_epoch = leader_epoch_of(topic, index)
        response = loaded.commit(operation(loaded.shard, wall_ms), leader_epoch, wall_ms)
        loaded.commit(loaded.shard.refresh(loaded.log.end_offset, wall_ms), leader_epoch, wall_ms)
        loaded.prune()
        self._indexes[key] = index  # of states that exist, so that no request makes this table grow
        return response

    def _at(self, topic: TopicMetadata, index: int) -> _Loaded:
        if topic.topic_id != self._topic_id:
            self._topic_id = topic.topic_id
            self._loaded.clear()
            self._indexes.clear()
        loaded = self._loaded.get(index)
        if loaded is None:
            log = self._logs.internal(topic.topic_id, index, SHARE_GROUP_STATE)
            loaded = self._loaded[index] = _Loaded(ShareStateShard(self._updates_per_snapshot), log)
            loaded.load()
        return loaded

    def _index_of(self, key: StateKey, topic: TopicMetadata) -> int:
        index = self._indexes.get(key)
        return partition_of_key(share_state_key(*key), topic.num_partitions) if index is None else index
