"""What survives a share-partition's leader: the state that Kafka keeps in `__share_group_state` (KIP-932).

`ShareStateStore` plays the share coordinator of the whole cluster, in memory. A leader reads a share-partition's state
when it begins to lead it, and writes every change of hard state before it makes the change. Acquired records are no
hard state: after a change of leader they are available again, with the delivery count that was last persisted.
"""

from collections.abc import Iterable
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.share.history import DeliveryHistory
from kafka_groups.broker.share.record_state import RecordState
from kafka_groups.broker.share.runs import Runs
from kafka_groups.errors import FencedLeaderEpochError, FencedStateEpochError, UnknownTopicOrPartitionError

__all__ = ["UNINITIALIZED_OFFSET", "PersistedState", "ShareStateStore", "StateBatch", "StateSummary", "StateUpdate"]

UNINITIALIZED_OFFSET = -1
"""Start offset of a share-partition whose group's `share.auto.offset.reset` was not resolved yet."""
_NO_LEADER_EPOCH = -1
_NO_COUNT = -1

_Key = tuple[str, UUID, int]


@frozen
class StateBatch:
    """The state of a range of offsets, as WriteShareGroupState has it."""

    first_offset: int
    last_offset: int
    delivery_state: RecordState
    delivery_count: int


@frozen
class StateUpdate:
    """One record of the state log: what an operation changes.

    Attributes:
        state_epoch: Epoch of the state that it belongs to.
        leader_epoch: Epoch of the leader that writes it.
        start_offset: The start offset before the change: whoever replays it moves on over terminal records. Kafka
            does the same, so that a described start offset may be one write behind.
        delivery_complete_count: Terminal records from `start_offset` on, after the change (KIP-1226).
        batches: The new states.
    """

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


@frozen
class PersistedState:
    """All that is known of a share-partition; an offset of no batch from `start_offset` on is available."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


@frozen
class StateSummary:
    """The same without the batches; offset and count are -1 when they are not known."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


class _State:
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

    def batches(self) -> Iterable[StateBatch]:
        return (StateBatch(run.first, run.last, *run.value) for run in self.runs)


class ShareStateStore:
    """The state of all share-partitions of a cluster.

    Attributes:
        history: The deliveries that ended, which nothing here reads: for tests.
    """

    def __init__(self) -> None:
        self.history = DeliveryHistory()
        self._states: dict[_Key, _State] = {}

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
        """Create the state of a share-partition; one that exists stays as it is, unless the state epoch is newer.

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
            raise FencedStateEpochError(f"state epoch {state_epoch} is older than {known.state_epoch}")
        if known is None or state_epoch > known.state_epoch:
            self._states[group_id, topic_id, partition] = _State(state_epoch, start_offset)

    def read(self, group_id: str, topic_id: UUID, partition: int, leader_epoch: int) -> PersistedState:
        """The state, for a leader of the given epoch; leaders of older epochs are fenced from now on.

        Raises:
            UnknownTopicOrPartitionError: There is no such state: it was not initialised.
            FencedLeaderEpochError: A leader of a newer epoch has read or written.
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
        """Persist a change; the newest state of an offset counts.

        Raises:
            UnknownTopicOrPartitionError: There is no such state.
            FencedStateEpochError: The state has a newer epoch.
            FencedLeaderEpochError: A leader of a newer epoch has read or written.
        """
        state = self._known(group_id, topic_id, partition)
        if update.state_epoch < state.state_epoch:
            raise FencedStateEpochError(f"state epoch {update.state_epoch} is older than {state.state_epoch}")
        _fence_leader(state, update.leader_epoch)
        state.apply(update)

    def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Delete the state of a share-partition, if it has one."""
        self._states.pop((group_id, topic_id, partition), None)

    def summary(self, group_id: str, topic_id: UUID, partition: int) -> StateSummary | None:
        """Epochs, start offset and delivery complete count; None when the share-partition has no state."""
        state = self._states.get((group_id, topic_id, partition))
        if state is None:
            return None
        return StateSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count)

    def _known(self, group_id: str, topic_id: UUID, partition: int) -> _State:
        state = self._states.get((group_id, topic_id, partition))
        if state is None:
            raise UnknownTopicOrPartitionError(f"group '{group_id}' has no state of {topic_id}-{partition}")
        return state


def _fence_leader(state: _State, leader_epoch: int) -> None:
    if leader_epoch < state.leader_epoch:
        raise FencedLeaderEpochError(f"leader epoch {leader_epoch} is older than {state.leader_epoch}")
