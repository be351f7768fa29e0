"""The persistent state of share-partitions, which Kafka stores in `__share_group_state` (KIP-932).

`ShareStateStore` acts as the share coordinator of the whole cluster, in memory. A leader reads a share-partition's
state when it starts to lead it, and writes every change of hard state before it applies the change. Acquisitions are
not hard state: after a change of leader those records are available again, with the delivery count that was last
persisted.
"""

from collections.abc import Iterable
from uuid import UUID

from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.broker.share_partitions.persisted_state import (
    PersistedState,
    PersisterStateBatch,
    StateSummary,
    StateUpdate,
)
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.broker.share_partitions.runs import Runs
from kafka_groups.errors import FencedLeaderEpochError, FencedStateEpochError, UnknownTopicOrPartitionError
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET

__all__ = ["ShareStateStore"]

_NO_LEADER_EPOCH = -1
_NO_COUNT = -1

_Key = tuple[str, UUID, int]


class _SharePartitionState:
    """One share-partition's state, with its batches merged."""

    def __init__(self, state_epoch: int, start_offset: int) -> None:
        self.state_epoch = state_epoch
        self.leader_epoch = _NO_LEADER_EPOCH
        self.start_offset = start_offset
        self.delivery_complete_count = _NO_COUNT
        self.runs: Runs[tuple[RecordState, int]] = Runs()

    def apply(self, update: StateUpdate) -> None:
        self.leader_epoch = update.leader_epoch
        self.start_offset = update.start_offset
        self.delivery_complete_count = update.delivery_complete_count
        for batch in update.batches:
            self.runs.assign(batch.first_offset, batch.last_offset, (batch.delivery_state, batch.delivery_count))
        self.runs.drop_below(self.start_offset)

    def batches(self) -> Iterable[PersisterStateBatch]:
        return (PersisterStateBatch(run.first, run.last, *run.value) for run in self.runs)


class ShareStateStore:
    """The state of all share-partitions of a cluster.

    Attributes:
        history: The deliveries that ended, which nothing here reads: for tests.
    """

    def __init__(self) -> None:
        self.history = DeliveryHistory()
        self._states: dict[_Key, _SharePartitionState] = {}

    def __repr__(self) -> str:
        return f"<ShareStateStore of {len(self._states)} share-partitions>"

    def initialize(
        self,
        group_id: str,
        topic_id: UUID,
        partition: int,
        start_offset: int = UNINITIALIZED_OFFSET,
        *,
        state_epoch: int = 0,
    ) -> None:
        """Create the state of a share-partition. An existing state is kept unless the state epoch is newer.

        Args:
            group_id: The share group.
            topic_id: The topic's id.
            partition: The partition's number.
            start_offset: Where delivery starts. -1 means the group's `share.auto.offset.reset`.
            state_epoch: Epoch of the state.

        Raises:
            FencedStateEpochError: The state has a newer epoch.
        """
        known = self._states.get((group_id, topic_id, partition))
        if known is not None and state_epoch < known.state_epoch:
            raise FencedStateEpochError(f"State epoch {state_epoch} is older than {known.state_epoch}.")
        if known is None or state_epoch > known.state_epoch:
            self._states[group_id, topic_id, partition] = _SharePartitionState(state_epoch, start_offset)

    def read(self, group_id: str, topic_id: UUID, partition: int, leader_epoch: int) -> PersistedState:
        """Return the state for a leader with the given epoch. Fences leaders with older epochs.

        Raises:
            UnknownTopicOrPartitionError: The state was not initialised.
            FencedLeaderEpochError: A leader with a newer epoch has read or written the state.
        """
        state = self._known(group_id, topic_id, partition)
        _fence_leader(state, leader_epoch)
        state.leader_epoch = leader_epoch
        return PersistedState(
            state.state_epoch,
            leader_epoch,
            state.start_offset,
            state.delivery_complete_count,
            tuple(state.batches()),
        )

    def write(self, group_id: str, topic_id: UUID, partition: int, update: StateUpdate) -> None:
        """Persist a change. The newest state of an offset wins.

        Raises:
            UnknownTopicOrPartitionError: The state was not initialised.
            FencedStateEpochError: The state has a newer epoch.
            FencedLeaderEpochError: A leader with a newer epoch has read or written the state.
        """
        state = self._known(group_id, topic_id, partition)
        if update.state_epoch < state.state_epoch:
            raise FencedStateEpochError(f"State epoch {update.state_epoch} is older than {state.state_epoch}.")
        _fence_leader(state, update.leader_epoch)
        state.apply(update)

    def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Delete the state of a share-partition, if it has one."""
        self._states.pop((group_id, topic_id, partition), None)

    def summary(self, group_id: str, topic_id: UUID, partition: int) -> StateSummary | None:
        """Return epochs, start offset and delivery complete count, or None if the share-partition has no state."""
        state = self._states.get((group_id, topic_id, partition))
        if state is None:
            return None
        return StateSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count)

    def _known(self, group_id: str, topic_id: UUID, partition: int) -> _SharePartitionState:
        state = self._states.get((group_id, topic_id, partition))
        if state is None:
            raise UnknownTopicOrPartitionError(f"Group '{group_id}' has no state for {topic_id}-{partition}.")
        return state


def _fence_leader(state: _SharePartitionState, leader_epoch: int) -> None:
    if leader_epoch < state.leader_epoch:
        raise FencedLeaderEpochError(f"Leader epoch {leader_epoch} is older than {state.leader_epoch}.")
