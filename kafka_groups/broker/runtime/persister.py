"""How the brokers of a cluster reach the share coordinator: by a call, because they share it (KIP-932, "Persister").

A leader reads a share-partition's state when it starts to lead it, and writes every change of hard state before it
applies the change. Acquisitions are not hard state: after a change of leader those records are available again, with
the delivery count that was last persisted.
"""

from uuid import UUID

from kafka_groups.broker.coordinators.share_state.coordinator import ShareCoordinator
from kafka_groups.broker.coordinators.share_state.shard import StateWrite
from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.broker.share_partitions.persisted_state import (
    PersistedState,
    PersisterStateBatch,
    StateSummary,
    StateUpdate,
)
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, StateBatch

__all__ = ["LocalPersister"]

_FIRST_STATE_EPOCH = 0


class LocalPersister:
    """The state of all share-partitions of a cluster, for their leaders and for the group coordinator.

    Args:
        coordinator: The share coordinator.

    Attributes:
        history: The deliveries that ended, which nothing here reads: for tests.
    """

    def __init__(self, coordinator: ShareCoordinator) -> None:
        self.history = DeliveryHistory()
        self._coordinator = coordinator

    def __repr__(self) -> str:
        return f"<LocalPersister to {self._coordinator!r}>"

    def initialize(
        self,
        group_id: str,
        topic_id: UUID,
        partition: int,
        start_offset: int = UNINITIALIZED_OFFSET,
        *,
        state_epoch: int = _FIRST_STATE_EPOCH,
    ) -> None:
        """Create the state of a share-partition, unless it has one.

        Kafka's coordinator would begin an existing state afresh, so a repeated request could un-accept records. Here
        the group coordinator may ask twice.

        Args:
            group_id: The share group.
            topic_id: The topic's id.
            partition: The partition's number.
            start_offset: Where delivery starts. -1 means the group's `share.auto.offset.reset`.
            state_epoch: Epoch of the state.

        Raises:
            BrokerError: As for `ShareCoordinator.initialize`.
        """
        key = (group_id, topic_id, partition)
        if self._coordinator.state(key) is None:
            self._coordinator.initialize(key, state_epoch, start_offset)

    def restart(self, group_id: str, topic_id: UUID, partition: int, start_offset: int, *, state_epoch: int) -> None:
        """Begin the state of a share-partition afresh, or create it. The arguments are those of `initialize`.

        Raises:
            BrokerError: As for `ShareCoordinator.initialize`.
        """
        self._coordinator.initialize((group_id, topic_id, partition), state_epoch, start_offset)

    def read(self, group_id: str, topic_id: UUID, partition: int, leader_epoch: int) -> PersistedState:
        """Return the state for a leader with the given epoch. Fences leaders with older epochs.

        Raises:
            BrokerError: As for `ShareCoordinator.read`.
        """
        state = self._coordinator.read((group_id, topic_id, partition), leader_epoch)
        batches = (
            PersisterStateBatch(
                each.first_offset, each.last_offset, RecordState(each.delivery_state), each.delivery_count
            )
            for each in state.batches
        )
        return PersistedState(
            state.state_epoch, leader_epoch, state.start_offset, state.delivery_complete_count, tuple(batches)
        )

    def write(self, group_id: str, topic_id: UUID, partition: int, update: StateUpdate) -> None:
        """Persist a change.

        Raises:
            BrokerError: As for `ShareCoordinator.write`.
        """
        batches = tuple(
            StateBatch(
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                delivery_state=each.delivery_state,
                delivery_count=each.delivery_count,
            )
            for each in update.batches
        )
        change = StateWrite(
            update.state_epoch, update.leader_epoch, update.start_offset, update.delivery_complete_count, batches
        )
        self._coordinator.write((group_id, topic_id, partition), change)

    def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Delete the state of a share-partition, if it has one."""
        self._coordinator.delete((group_id, topic_id, partition))

    def summary(self, group_id: str, topic_id: UUID, partition: int) -> StateSummary | None:
        """Return epochs, start offset and delivery complete count, or None if the share-partition has no state."""
        state = self._coordinator.state((group_id, topic_id, partition))
        if state is None:
            return None
        return StateSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count)
