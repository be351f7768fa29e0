"""The share coordinator of one broker: states in the partitions of `__share_group_state` that the broker leads."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from kafka_groups.broker.coordinators.internal_topic import InternalTopic
from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.broker.coordinators.share_state.shard import ShareStateShard
from kafka_groups.broker.coordinators.share_state.share_partition_state import SharePartitionState, StateKey
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC, partition_of_key, share_state_key
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime, ShardKind
from kafka_groups.broker.runtime.led_shard import Done, ShardAddress
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE, ShareStateRecord
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition

__all__ = ["ShareCoordinator", "share_state_topic", "state_partition"]

T = TypeVar("T")

_MOST_KNOWN_KEYS = 10_000

Operation = Callable[[ShareStateShard], Result[T, ShareStateRecord]]


@lru_cache(_MOST_KNOWN_KEYS)
def state_partition(key: StateKey, partitions: int) -> int:
    """Return the partition that has the state of a share-partition."""
    return partition_of_key(share_state_key(*key), partitions)


def share_state_topic(settings: BrokerSettings, metadata: ClusterMetadata) -> InternalTopic:
    """Return the topic that keeps the states of share-partitions."""
    configs = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "retention.ms": "-1",
        "segment.bytes": "104857600",
    }
    partitions, replicas = settings.share_state_topic_num_partitions, settings.share_state_topic_replication_factor
    return InternalTopic(SHARE_STATE_TOPIC, partitions, replicas, configs, metadata)


class ShareCoordinator:
    """Operations on the states of share-partitions.

    Each takes a function for its outcome, which may be called at once. The errors are those of the shard, and those of
    `CoordinatorRuntime.run`.

    Args:
        broker: The broker that hosts it.

    Attributes:
        topic: `__share_group_state`.
        runtime: Has the shards.
        peer_apis: The APIs with which brokers ask each other's share coordinators.
        writes: The number of requested writes of states so far.
    """

    peer_apis = (
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    )

    def __init__(self, broker: BrokerParts) -> None:
        settings, metadata = broker.cluster.settings, broker.cluster.metadata
        self.topic = share_state_topic(settings, metadata)
        kind = ShardKind(
            self.topic.name,
            SHARE_GROUP_STATE,
            lambda: ShareStateShard(metadata, settings.share_updates_per_snapshot),
            _no_effects,
        )
        self.runtime: CoordinatorRuntime[ShareStateShard] = CoordinatorRuntime(broker, kind)
        self.writes = 0
        self._clock = broker.cluster.clock

    def __repr__(self) -> str:
        return f"<ShareCoordinator on {self.runtime!r}>"

    def check(self, key: StateKey) -> None:
        """Raise an error if this broker cannot answer for a share-partition. See `CoordinatorRuntime.check`."""
        self.runtime.check(self._index_of(key))

    def initialize(self, key: StateKey, state_epoch: int, start_offset: int, done: Done[None]) -> None:
        """Create the state of a share-partition, or begin it afresh."""
        wall_ms = self._clock.wall_ms()
        self._run(key, lambda shard: shard.initialize(key, state_epoch, start_offset, wall_ms), done)

    def create(self, key: StateKey, state_epoch: int, start_offset: int, done: Done[None]) -> None:
        """Create the state of a share-partition, unless it has one."""
        wall_ms = self._clock.wall_ms()

        def create(shard: ShareStateShard) -> Result[None, ShareStateRecord]:
            exists = shard.state(key) is not None
            return Result(None) if exists else shard.initialize(key, state_epoch, start_offset, wall_ms)

        self._run(key, create, done)

    def read(self, key: StateKey, leader_epoch: int, done: Done[PersistedState]) -> None:
        """Return the state of a share-partition for a leader with the given epoch."""
        wall_ms = self._clock.wall_ms()

        def read(shard: ShareStateShard) -> Result[PersistedState, ShareStateRecord]:
            result = shard.read(key, leader_epoch, wall_ms)
            return Result(_read(result.response, with_batches=True), result.records)

        self._run(key, read, done)

    def write(self, key: StateKey, change: WriteShareStatePartition, done: Done[None]) -> None:
        """Change the state of a share-partition."""
        wall_ms = self._clock.wall_ms()
        self.writes += 1
        self.runtime.run(self._index_of(key), lambda shard: shard.write(key, change, wall_ms), done)

    def delete(self, key: StateKey, done: Done[None]) -> None:
        """Delete the state of a share-partition, if it has one."""
        self._run(key, lambda shard: shard.delete(key), done)

    def summarize(self, key: StateKey, done: Done[PersistedState | None]) -> None:
        """Return the state of a share-partition without its batches, or None if there is none."""

        def summarize(shard: ShareStateShard) -> Result[PersistedState | None, ShareStateRecord]:
            state = shard.state(key)
            return Result(None if state is None else _read(state, with_batches=False))

        self._run(key, summarize, done)

    def state_now(self, key: StateKey) -> SharePartitionState | None:
        """Return a state of this broker if it is there, to look at: for tests."""
        shard = self.runtime.active_shard(self._index_of(key))
        return None if shard is None else shard.state(key)

    def _run(self, key: StateKey, operation: Operation[T], done: Done[T]) -> None:
        self.runtime.run(self._index_of(key), operation, done)

    def _index_of(self, key: StateKey) -> int:
        partitions = self.runtime.num_partitions
        return state_partition(key, partitions) if partitions else -1


def _read(state: SharePartitionState, *, with_batches: bool) -> PersistedState:
    return PersistedState(
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.delivery_complete_count,
        state.batches if with_batches else (),
    )


def _no_effects(effect: Effect, _address: ShardAddress) -> None:
    raise TypeError(f"The share coordinator has no effect {effect!r}.")
