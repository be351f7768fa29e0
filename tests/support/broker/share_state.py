"""A share coordinator of its own, for tests of those who use it."""

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

from kafka_groups.broker.coordinators.share_state.share_partition_state import SharePartitionState, StateKey
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint, TopicMetadata
from kafka_groups.broker.runtime.outcome import PendingOutcome
from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from tests.support.broker.coordinators import Cluster


def batch_of(first: int, last: int, state: int, count: int) -> StateBatch:
    """The state of some offsets."""
    return StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)


def change_of(
    state_epoch: int, leader_epoch: int, start: int, complete: int, batches: tuple[StateBatch, ...] = ()
) -> WriteShareStatePartition:
    """A change of the state of partition 0."""
    return WriteShareStatePartition(
        partition=0,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start,
        delivery_complete_count=complete,
        state_batches=batches,
    )


class AllTopics(ClusterMetadata):
    """A cluster in which every topic id is that of a topic."""

    def topic_by_id(self, topic_id: UUID) -> TopicMetadata:
        """The topic with that id."""
        return super().topic_by_id(topic_id) or TopicMetadata("any", topic_id, ())


def cluster_of(brokers: int) -> ClusterMetadata:
    """The metadata of a cluster with some brokers, from 0 on."""
    metadata = AllTopics(random.Random(1))
    for node_id in range(brokers):
        metadata.register_broker(BrokerEndpoint(node_id, "host", 9092 + node_id))
    return metadata


def cluster_of_one() -> ClusterMetadata:
    """The metadata of a cluster with one broker and nothing else."""
    metadata = ClusterMetadata(random.Random(1))
    metadata.register_broker(BrokerEndpoint(0, "host", 9092))
    return metadata


class ShareStates:
    """The share coordinator of a cluster of one broker, as calls that return or raise. Its topic exists.

    Args:
        metadata: The metadata of the cluster.
        logs: The logs of the cluster.
        settings: The settings of the broker.
    """

    def __init__(
        self,
        metadata: ClusterMetadata | None = None,
        logs: LogStore | None = None,
        settings: BrokerSettings | None = None,
    ) -> None:
        self.metadata = metadata or cluster_of(1)
        self.cluster = Cluster(self.metadata, logs, settings)
        [self.coordinators] = self.cluster.brokers.values()
        self.coordinators.share.topic.ensured()
        self.cluster.turns.run()

    def initialize(self, key: StateKey, state_epoch: int, start_offset: int) -> None:
        """Create a state, or begin it afresh."""
        self._now(lambda done: self.coordinators.share.initialize(key, state_epoch, start_offset, done))

    def read(self, key: StateKey, leader_epoch: int) -> PersistedState:
        """Read a state."""
        found: PersistedState = self._now(lambda done: self.coordinators.share.read(key, leader_epoch, done))
        return found

    def write(self, key: StateKey, change: WriteShareStatePartition) -> None:
        """Change a state."""
        self._now(lambda done: self.coordinators.share.write(key, change, done))

    def delete(self, key: StateKey) -> None:
        """Delete a state."""
        self._now(lambda done: self.coordinators.share.delete(key, done))

    def state(self, key: StateKey) -> SharePartitionState | None:
        """A state, or None."""
        return self.coordinators.share.state_now(key)

    def _now(self, begin: Callable[[PendingOutcome[Any]], None]) -> Any:
        outcome: PendingOutcome[Any] = PendingOutcome()
        begin(outcome)
        self.cluster.turns.run()
        return outcome.now()


class Persisted:
    """A persister to a share coordinator of its own, as calls that return or raise."""

    def __init__(self, states: ShareStates | None = None) -> None:
        self.states = states or ShareStates()
        self._persister = self.states.coordinators.persister

    @property
    def history(self) -> DeliveryHistory:
        """The deliveries that ended."""
        return self._persister.history

    def initialize(self, group_id: str, topic_id: UUID, partition: int, start_offset: int = -1) -> None:
        """Create a state unless it exists."""
        key = (group_id, topic_id, partition)
        self.states._now(lambda done: self._persister.create(key, 0, start_offset, done))

    def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Delete a state."""
        self.states._now(lambda done: self._persister.delete((group_id, topic_id, partition), done))

    def read(self, group_id: str, topic_id: UUID, partition: int, leader_epoch: int) -> PersistedState:
        """Read a state."""
        found: PersistedState = self.states._now(
            lambda done: self._persister.read((group_id, topic_id, partition), leader_epoch, done)
        )
        return found

    def write(self, group_id: str, topic_id: UUID, partition: int, change: WriteShareStatePartition) -> None:
        """Change a state."""
        self.states._now(lambda done: self._persister.write((group_id, topic_id, partition), change, done))

    def summary(self, group_id: str, topic_id: UUID, partition: int) -> tuple[int, int, int, int] | None:
        """Epochs, start offset and count of a state, or None."""
        state = self.states.state((group_id, topic_id, partition))
        if state is None:
            return None
        return state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count


def persister() -> Persisted:
    """A persister to a share coordinator of its own."""
    return Persisted()
